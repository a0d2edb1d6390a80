"""Changes of the source that no test can notice, each with its reason.

They were read one by one: the changed line gives the same answers, and a number in it steers at
most how fast they come.
"""

EQUAL: dict[tuple[str, str, str], str] = {
    (
        "_files/container.py",
        "return flat.reshape(-1).view(np.uint8).data",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    ("_files/container.py", "while at < len(buffer):", "Lt → LtE"): "reading nothing ends the loop",
    (
        "_files/fields.py",
        "for size, wanted in zip(value.shape, self.shape, strict=True):",
        "→ False",
    ): "the numbers of dimensions were compared before",
    (
        "gram/base.py",
        "others = np.setdiff1d(np.arange(self.shape[0]), columns, assume_unique=True)",
        "→ False",
    ): "says that numbers differ, which saves a search",
    (
        "gram/held.py",
        "return 8 * eps * math.sqrt(self._squares / self.shape[0])",
        "0 → 1",
    ): "the matrix is square",
    (
        "problems/elastic_net.py",
        "if 4 * used.size < w.size and not quick:",
        "Lt → LtE",
    ): "which of two ways to the same product is quicker",
    (
        "problems/manifold.py",
        "pairs = zip(self.parts, F.T, strict=True)",
        "→ False",
    ): "there is a column of values for each problem",
    (
        "problems/products.py",
        "return Products(gram, np.zeros((gram.shape[0], 1))).whole",
        "0 → 1",
    ): "the matrix is square",
    (
        "problems/products.py",
        "step = max(1, _BLOCK_VALUES // n)",
        "1 → 2",
    ): "rows that are looked at in one go",
    (
        "solvers/centred_spectrum.py",
        "block=_LANES if n <= _SMALL else _LANES * -(-(2 * count + 4) // _LANES),",
        "4 → 5",
    ): "how many vectors are multiplied at once",
    (
        "solvers/landmarks/landmark_newton.py",
        "self.late = stagnates or (steps > _MANY_STEPS and pace > _SLOW * self._usual)",
        "Gt → GtE",
    ): "whether a step more is taken, at a tie of measured times",
    (
        "solvers/linear/lasso.py",
        "if dual > lower:",
        "Gt → GtE",
    ): "a bound in the place of an equal one",
    (
        "solvers/manifold_newton.py",
        "if max(gaps) <= tol or max(gaps) > 0.5 * best or self.reason is not None:",
        "Gt → GtE",
    ): "gaps that are equal to the last bit",
    (
        "solvers/svm/smo.py",
        "self.use_float64(self.precise or slow or waiting > patience)",
        "Gt → GtE",
    ): "when the precision is raised, one step sooner",
    (
        "problems/penalty_problems.py",
        "for _ in range(2):  # twice is enough for rounding",
        "2 → 3",
    ): "a third time takes off nothing but rounding",
    (
        "problems/norm_regression.py",
        "for _ in range(2):  # twice is enough for rounding",
        "2 → 3",
    ): "a third time takes off nothing but rounding",
    (
        "problems/squares_bounds.py",
        "for _ in range(2):  # the second time takes off what rounding left",
        "2 → 3",
    ): "a third time takes off nothing but rounding",
    (
        "problems/penalty_problems.py",
        "if -np.inf < low < 0:",
        "Lt → LtE",
    ): "a share of an infinite bound is 0",
    (
        "problems/elastic_net.py",
        "if self.shape[0] * len(rows) * len(columns) <= _LITTLE_WORK:",
        "Mult → Div",
    ): "which of two ways to the same product is quicker",
    (
        "problems/elastic_net.py",
        "if 4 * used.size < w.size and not quick:",
        "And → Or",
    ): "which of two ways to the same product is quicker",
    (
        "problems/kernel_alignment.py",
        "rounding = M.shape[0] * 1e-10 * float(np.abs(M).max(initial=0.0))",
        "0 → 1",
    ): "the matrix is square",
    (
        "problems/products.py",
        "self.gram, n = exact, exact.shape[0]",
        "0 → 1",
    ): "the matrix is square",
    (
        "problems/manifold.py",
        "columns = zip(self.parts, coef.T, F.T, strict=True)",
        "→ False",
    ): "there is a column of values for each problem",
    (
        "problems/manifold.py",
        "return np.where(self.y * e > 0, e, 0.0) if self.hinge else e",
        "Gt → GtE",
    ): "an error of 0 is 0 either way",
    (
        "problems/multiclass.py",
        "widths, come = np.where(np.arange(len(room)) == first, np.inf, 0.0), [-1] * len(room)",
        "1 → 2",
    ): "any negative number says that there is no class before",
    (
        "problems/unbiased.py",
        "rising = r > 0",
        "Gt → GtE",
    ): "a slope of 0 is the least that there is",
    (
        "problems/unbiased.py",
        "room = (self.hi - beta) * rise + (beta - self.lo) * fall",
        "Add → Sub",
    ): "one of both is 0, and the size is what counts",
    (
        "gram/cache.py",
        "self._row_in = np.full(self.capacity, -1, dtype=np.intp)",
        "1 → 2",
    ): "any negative number says that a place is empty",
    (
        "gram/cached.py",
        "self._row_in = np.full(self.capacity, -1, np.intp)",
        "1 → 2",
    ): "any negative number says that a place is empty",
    (
        "gram/cached.py",
        "everything = slice(0, sample.shape[0])",
        "0 → 1",
    ): "the matrix is square, and one row less of it is timed",
    (
        "gram/cached.py",
        "self.count = gram.shape[0]",
        "0 → 1",
    ): "the matrix is square",
    (
        "gram/centring.py",
        "n = gram.shape[0]",
        "0 → 1",
    ): "the matrix is square",
    (
        "gram/neighbours.py",
        "n = gram.shape[0]",
        "0 → 1",
    ): "the matrix is square",
    (
        "gram/held.py",
        "n = self.shape[0]",
        "0 → 1",
    ): "the matrix is square",
    (
        "gram/held.py",
        "out = np.empty((self.shape[0], U.shape[1]))",
        "0 → 1",
    ): "the matrix is square",
    (
        "gram/held.py",
        "out[mine, columns] = self._tile(i, j)[at] if i <= j else self._tile(j, i)[:, at].T",
        "LtE → Lt",
    ): "a tile on the diagonal is its own transpose",
    (
        "gram/radial_sum.py",
        "for name, total, product in zip(widths, sums, products, strict=True):",
        "→ False",
    ): "there is a sum for each width",
    ("problems/manifold.py", "rows = np.arange(gram.shape[0])", "0 → 1"): "the matrix is square",
    (
        "problems/multiple_kernels.py",
        "d, n = value.weights, gram.shape[0]",
        "0 → 1",
    ): "the matrix is square",
    ("problems/qp.py", "n = gram.shape[0]", "0 → 1"): "the matrix is square",
    ("problems/ridge.py", "n, found = gram.shape[0], None", "0 → 1"): "the matrix is square",
    ("problems/unbiased.py", "n = gram.shape[0]", "0 → 1"): "the matrix is square",
    ("solvers/centred_spectrum.py", "n = gram.shape[0]", "0 → 1"): "the matrix is square",
    (
        "solvers/centred_spectrum.py",
        "fine = doubtful and holdable(gram.shape[0], fine=True) is not None",
        "0 → 1",
    ): "the matrix is square",
    (
        "solvers/centred_spectrum.py",
        "n, tol = gram.shape[0], budget.tol",
        "0 → 1",
    ): "the matrix is square",
    ("solvers/centred_spectrum.py", "gram.shape[0],", "0 → 1"): "the matrix is square",
    (
        "solvers/centred_spectrum.py",
        "dtype = holdable(gram.shape[0], fine)",
        "0 → 1",
    ): "the matrix is square",
    (
        "solvers/linear/logistic_spaces.py",
        "n, self.most_factored = gram.shape[0], most_factored",
        "0 → 1",
    ): "the matrix is square",
    ("solvers/manifold_newton.py", "n = gram.shape[0]", "0 → 1"): "the matrix is square",
    (
        "solvers/network/online_rules.py",
        "if 8 * gram.shape[0] ** 2 > budget.cache_bytes:",
        "0 → 1",
    ): "the matrix is square",
    (
        "solvers/ridge_systems.py",
        "small = gram.shape[0] <= _SMALL",
        "0 → 1",
    ): "the matrix is square",
    ("solvers/svm/box_qp.py", "n = gram.shape[0]", "0 → 1"): "the matrix is square",
    (
        "solvers/svm/interior.py",
        "rows = problem.coefficients(beta, gram.shape[0])",
        "0 → 1",
    ): "the matrix is square",
    ("solvers/svm/interior.py", "n = gram.shape[0]", "0 → 1"): "the matrix is square",
    ("solvers/svm/smo.py", "self.n = gram.shape[0]", "0 → 1"): "the matrix is square",
    ("solvers/warped_kernel.py", "n = gram.shape[0]", "0 → 1"): "the matrix is square",
    (
        "gram/base.py",
        "return self.dense(np.float64), np.arange(self.shape[0])",
        "0 → 1",
    ): "the matrix is square",
    ("gram/direct.py", "self._computed += self.shape[0] ** 2", "0 → 1"): "the matrix is square",
    (
        "gram/direct.py",
        "return self.dense(), np.arange(self.shape[0])",
        "0 → 1",
    ): "the matrix is square",
    ("gram/scaled.py", "at = row_numbers(index, self.shape[0])", "0 → 1"): "the matrix is square",
    (
        "gram/scaled.py",
        "return ScaledGram(self.gram.take(rows), self.weights[row_numbers(rows, self.shape[0])])",
        "0 → 1",
    ): "the matrix is square",
    (
        "gram/held.py",
        "n, size = self.shape[0], len(self._parts) * self._tiles.shape[1]",
        "0 → 1",
    ): "the matrix is square",
    (
        "gram/held.py",
        "rows: IntArray = row_numbers(index, self.shape[0])",
        "0 → 1",
    ): "the matrix is square",
    (
        "solvers/landmarks/landmark_preconditioner.py",
        "self._factor = cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)",
        "→ False",
    ): "the matrix is not used again, and its other half is the same",
    (
        "solvers/manifold_newton.py",
        "cholesky: Factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)",
        "→ False",
    ): "the matrix is not used again, and its other half is the same",
    (
        "solvers/svm/interior.py",
        "factors = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)",
        "→ False",
    ): "the matrix is not used again, and its other half is the same",
    (
        "solvers/ridge_path.py",
        "self.values, self.vectors = eigh(K, overwrite_a=True, check_finite=False)",
        "→ False",
    ): "the matrix is not used again",
    (
        "solvers/ridge_path.py",
        "values, Q = eigh(Z.T @ Z, overwrite_a=True, check_finite=False)",
        "→ False",
    ): "the matrix is not used again",
    (
        "solvers/svm/weight_newton.py",
        "factor = cho_factor(A + jitter * size * np.eye(len(at)), overwrite_a=True)",
        "→ False",
    ): "the matrix is not used again",
    (
        "solvers/warped_kernel.py",
        "spread: Array = linalg.solve(H, unit, overwrite_a=True, check_finite=False)",
        "→ False",
    ): "the matrix is not used again",
    (
        "problems/kernel_alignment.py",
        "product = terms[other].multiply(F.astype(terms[other].dtype, copy=False))",
        "→ True",
    ): "a copy of the same numbers",
    (
        "problems/qp.py",
        "return np.bincount(self.row, beta, count).astype(np.float64, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "solvers/svm/box_parts.py",
        "K, idx.astype(np.intp, copy=False), ends,",
        "→ True",
    ): "a copy of the same numbers",
    (
        "solvers/svm/box_qp.py",
        "self.idx = rows[first.row].astype(np.intp, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "solvers/svm/interior.py",
        "return FeatureSystem(phi.astype(np.float64, copy=False))",
        "→ True",
    ): "a copy of the same numbers",
    ("solvers/svm/interior.py", "np.float64, copy=False", "→ True"): "a copy of the same numbers",
    (
        "solvers/svm/weight_newton.py",
        "[term.multiply(B.astype(term.dtype, copy=False)) for term in self.terms],",
        "→ True",
    ): "a copy of the same numbers",
    (
        "gram/centring.py",
        "return shifted.astype(self.dtype, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "gram/centring.py",
        "return np.subtract(block, shift.astype(block.dtype, copy=False), out=out)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "gram/feature_gram.py",
        "return Vectors(self.left.values).squared_norms.astype(self.dtype, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "gram/feature_gram.py",
        "left = self.left.values[rows].astype(self.dtype, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "gram/feature_gram.py",
        "right = self.right.values[columns].astype(self.dtype, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "gram/feature_gram.py",
        "return products(self.left.values, self.right.values).astype(wanted, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "gram/given.py",
        "return np.asarray(self._values().astype(self.dtype, copy=False) @ V)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "problems/elastic_net.py",
        "data: Array = np.asfortranarray(Z).T.reshape(-1)",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "problems/functions.py",
        "return rows.reshape(-1, len(x))",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "solvers/svm/smo_trace.py",
        "np.array(self.pairs, dtype=np.intp).reshape(-1, 2),",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "solvers/svm/smo_trace.py",
        "np.array(self.intervals, dtype=np.float64).reshape(-1, 2),",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "problems/contrasts.py",
        "return tuple(np.sum(terms, axis=0) / n for terms in zip(*parts, strict=True))",
        "→ False",
    ): "each part has the same terms",
    (
        "solvers/dual_optimum.py",
        "for weight, form in zip(z, self.forms[1:], strict=True):",
        "→ False",
    ): "there is a multiplier for each constraint",
    (
        "solvers/linear/penalised_regression.py",
        "slopes = np.concatenate([part.slopes[k] for part, k in zip(seen, kept, strict=True)])",
        "→ False",
    ): "there is a choice for each part",
    (
        "solvers/linear/penalised_regression.py",
        "[(part.values - part.slopes * part.at)[k] for part, k in zip(seen, kept, strict=True)]",
        "→ False",
    ): "there is a choice for each part",
    (
        "solvers/sources/ica_newton.py",
        "for (s, y), a in zip(self.memory, reversed(factors), strict=True):",
        "→ False",
    ): "there is a factor for each pair",
    (
        "solvers/svm/box_parts.py",
        "pieces = zip(group, _pieces(ends), _pieces(row_ends), numbers.tolist(), strict=True)",
        "→ False",
    ): "there is a piece for each problem",
    (
        "solvers/svm/interior.py",
        "good = (beta for beta, value in zip(candidates, values, strict=True) if value >= enough)",
        "→ False",
    ): "there is a value for each candidate",
    (
        "gram/kernel_family.py",
        "return dict(zip(self.names, np.exp(self.scales * theta).tolist(), strict=True))",
        "→ False",
    ): "there is a scale for each name",
    (
        "problems/linear.py",
        "lo, hi = np.where(signs > 0, 0.0, both.lo), np.where(signs > 0, both.hi, 0.0)",
        "Gt → GtE",
    ): "signs are ±1",
    (
        "problems/linear.py",
        "alpha = 2 * self.C * np.maximum(0.0, 1 - self.signs * rows.dot(w))",
        "2 → 3",
    ): "the best multiple of it is returned, which is the same",
    (
        "problems/logistic.py",
        "return np.asarray(np.linalg.pinv(H, hermitian=True))",
        "→ False",
    ): "a symmetric matrix has the same inverse by its singular values",
    (
        "problems/manifold.py",
        "terms = 2 * int(np.diff(self.laplacian.indptr).max(initial=0)) + 16",
        "0 → 1",
    ): "of a graph without entries the sizes that it counts with are 0",
    (
        "problems/elastic_net.py",
        "if 4 * used.size < w.size and not quick:",
        "4 → 5",
    ): "which of two ways to the same product is quicker",
    (
        "problems/kernel_alignment.py",
        "step = max(1, _BLOCK // n)",
        "1 → 2",
    ): "rows that are looked at in one go",
    (
        "gram/given.py",
        "return part.astype(self.dtype, copy=isinstance(i, slice) and isinstance(j, slice))",
        "And → Or",
    ): "a copy of what is a copy already",
    (
        "gram/given.py",
        "if whole and _MANY * len(columns) > self.shape[1]:",
        "Mult → Div",
    ): "which of two ways to the same product is quicker",
    (
        "gram/held.py",
        'order: Literal["C", "F"] = "F" if few or self.dtype == np.float64 else "C"',
        "Eq → NotEq",
    ): "which of two ways to the same product is quicker",
    (
        "gram/sums.py",
        "total = self._terms[0].block(rows, columns).astype(self.dtype, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "problems/linear.py",
        "if beta.ndim == 2 and not sparse.issparse(self.X):",
        "And → Or",
    ): "which of two ways to the same product is quicker",
    (
        "problems/linear.py",
        "if beta.ndim == 2 and not sparse.issparse(self.X):",
        "Eq → NotEq",
    ): "which of two ways to the same product is quicker",
    (
        "problems/backpropagation.py",
        "for W, b, Z in zip(network.coefs, network.intercepts, layers, strict=True):",
        "→ False",
    ): "each layer has weights and constants",
    (
        "gram/cache.py",
        "self._slot_of[evicted[evicted >= 0]] = -1",
        "1 → 2",
    ): "any negative number says that a row is not there",
    (
        "gram/cache.py",
        "self._slot_of = np.full(self._rows, -1, dtype=np.intp)",
        "1 → 2",
    ): "any negative number says that a row is not there",
    (
        "gram/neighbours.py",
        "mean = float(squares.mean()) if squares.size else 0.0",
        "0.0 → 1.0",
    ): "there is no edge whose weight it could change",
    (
        "problems/linear.py",
        "best = float(alpha.sum()) / curvature if curvature > 0 else 0.0",
        "0.0 → 1.0",
    ): "a multiple of multipliers that are 0",
    (
        "problems/multi_task.py",
        "directions = value / np.where(lengths > 0, lengths, 1.0)[:, None]",
        "1.0 → 2.0",
    ): "a row of zeros stays one, whatever it is divided by",
    (
        "problems/kernel_alignment.py",
        "flat = block.reshape(count, -1)",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "gram/given.py",
        "if _MANY * len(columns) > matrix.shape[1]:",
        "Mult → Div",
    ): "which of two ways to the same numbers is quicker",
    (
        "gram/given.py",
        "whole = isinstance(self._rows, slice) and isinstance(self._columns, slice)",
        "And → Or",
    ): "which of two ways to the same product is quicker",
    (
        "gram/cached.py",
        "self.store: Array = np.empty(1, np.float64 if precise else np.float32)",
        "1 → 2",
    ): "nothing is stored there",
    (
        "gram/cached.py",
        "if self._buffer.size < cells * size:",
        "Lt → LtE",
    ): "memory of the same size is taken anew",
    (
        "gram/radial_sum.py",
        "threads = _parallel.thread_count() if slope.size > _SHARED else 1",
        "1 → 2",
    ): "columns are added up one by one or all in one call, each for itself",
    (
        "gram/radial_sum.py",
        "if threads == 1:",
        "Eq → NotEq",
    ): "columns are added up one by one or all in one call, each for itself",
    (
        "gram/held.py",
        "few = V.shape[1] <= _FEW",
        "LtE → Lt",
    ): "which of two ways to the same product is quicker",
    (
        "gram/held.py",
        "workers = max(1, min(self._threads, len(self._tiles)))",
        "1 → 2",
    ): "how many threads share the tiles",
    (
        "gram/held.py",
        "tile = tile if i <= j else tile.T",
        "LtE → Lt",
    ): "a tile on the diagonal is its own transpose",
    (
        "gram/feature_gram.py",
        "one = points.take(slice(0, 1))",
        "1 → 2",
    ): "two rows are the data themselves where one is",
    (
        "gram/direct.py",
        "return values if dtype is None else values.astype(dtype, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "gram/cache.py",
        "self.capacity = min(rows, budget // max(1, columns * dtype.itemsize))",
        "1 → 2",
    ): "rows without columns hold nothing",
    (
        "gram/cache.py",
        "self._clock += 1",
        "1 → 2",
    ): "any clock that goes on",
    (
        "gram/base.py",
        "result = np.empty((self.shape[0], V.shape[1]), dtype=np.result_type(self.dtype, V))",
        "0 → 1",
    ): "the matrix is square",
    (
        "problems/elastic_net.py",
        "if self.shape[0] * len(rows) * len(columns) <= _LITTLE_WORK:",
        "0 → 1",
    ): "which of two ways to the same product is quicker",
    (
        "problems/elastic_net.py",
        "if self.means is None and self.roots is None:",
        "And → Or",
    ): "all rows in one go, or in blocks",
    (
        "problems/constrained.py",
        "parts += zip(functions, np.split(weights, ends[:-1]), strict=True) if functions else []",
        "→ False",
    ): "there are weights for each function",
    (
        "problems/design_products.py",
        "step = max(1, _BLOCK_VALUES // max(p, 1))",
        "1 → 2",
    ): "rows that are looked at in one go",
    (
        "problems/linear.py",
        "several = W.ndim == 2 and not sparse.issparse(self.X)",
        "And → Or",
    ): "which of two ways to the same product is quicker",
    (
        "problems/sparse_logistic.py",
        "inside = 1.0 if worst <= self.l1 else self.l1 / worst",
        "LtE → Lt",
    ): "the share of a number above 0 in itself is 1",
    (
        "problems/elastic_net.py",
        "if self.shape[0] * len(rows) * len(columns) <= _LITTLE_WORK:",
        "LtE → Lt",
    ): "which of two ways to the same product is quicker",
    (
        "gram/held.py",
        "size = self._tiles.shape[1]",
        "1 → 2",
    ): "tiles are square",
    (
        "problems/landmark_losses.py",
        "return np.asarray((self._signs(labels) > 0) - self._probabilities(U))",
        "Gt → GtE",
    ): "signs are ±1",
    (
        "gram/neighbours.py",
        "return int(self.weights.shape[0])",
        "0 → 1",
    ): "the matrix is square",
    (
        "problems/norm_check.py",
        "for x, size in zip(vectors, sizes, strict=True):",
        "→ False",
    ): "there is a size for each vector",
    (
        "gram/held.py",
        "return self.rows(slice(None)).astype(dtype or self.dtype, copy=False)",
        "→ True",
    ): "a copy of the same numbers",
    (
        "problems/landmark_squares.py",
        "return np.asarray(chunk.y, dtype=np.float64).reshape(len(chunk), -1)",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "problems/penalty_problems.py",
        "over = max(over, float(nu.min(initial=0.0)) / low)",
        "0.0 → 1.0",
    ): "a share below 0 is less than the 1 that there is",
    (
        "solvers/gp/evidence.py",
        "moved[at] += step",
        "Add → Sub",
    ): "both ways are looked at, in whichever order",
    (
        "solvers/sources/fixed_point.py",
        "new *= np.sign(new @ w) or 1.0",
        "Mult → Div",
    ): "by 1 or −1",
    (
        "solvers/sources/fixed_point.py",
        "most, worst, ended = 0, 0.0, Status.OPTIMAL",
        "0 → 1",
    ): "each source takes a step at least",
    (
        "solvers/linear/proximal_newton.py",
        "if k > 1:",
        "1 → 2",
    ): "two classes have one function, and k classes have k",
    (
        "solvers/linear/proximal_newton.py",
        "if k > 1:",
        "Gt → GtE",
    ): "one function has no other: its slices are empty",
    (
        "solvers/linear/proximal_newton.py",
        "Q = _weighted(A, crossed[rows][:, chosen.function]) if k > 1 else A",
        "1 → 2",
    ): "two classes have one function, and k classes have k",
    (
        "solvers/linear/proximal_newton.py",
        "Q = _weighted(A, crossed[rows][:, chosen.function]) if k > 1 else A",
        "Gt → GtE",
    ): "which one function does not use",
    (
        "solvers/linear/proximal_newton.py",
        "several = problem.functions > 1",
        "1 → 2",
    ): "two classes have one function, and k classes have k",
    (
        "solvers/linear/coordinate.py",
        "rest = budget if most < 0 else budget.but(max_iter=most - first.iterations)",
        "Lt → LtE",
    ): "of no steps none are taken: the budget is the same",
    (
        "solvers/linear/coordinate.py",
        "rest = budget if most < 0 else budget.but(max_iter=most - spent)",
        "Lt → LtE",
    ): "of no steps none are taken: the budget is the same",
    (
        "solvers/ridge_systems.py",
        "lengths[lengths == 0] = 1.0",
        "1.0 → 2.0",
    ): "zeros are divided by it",
    (
        "solvers/linear/penalised_regression.py",
        "weights /= weights.max()",
        "max → min",
    ): "weights of least squares count by their ratios",
    (
        "solvers/svm/changed_rows.py",
        "if most > 0:",
        "Gt → GtE",
    ): "the sum of no squares is 0 either way",
    (
        "solvers/linear/linear_newton.py",
        "B = np.empty((min(block, len(active)), rows.columns))",
        "min → max",
    ): "room that is not used",
    (
        "solvers/landmarks/landmark_newton.py",
        "most = self.budget.max_iter if self.budget.max_iter >= 0 else sys.maxsize",
        "0 → 1",
    ): "without any steps it has stopped before",
    (
        "solvers/landmarks/landmark_newton.py",
        "most = self.budget.max_iter if self.budget.max_iter >= 0 else sys.maxsize",
        "GtE → Gt",
    ): "without any steps it has stopped before",
    (
        "solvers/warped_kernel.py",
        "inner = budget.but(tol=_VIOLATION, gap=0.5 * budget.tol, max_iter=-1)",
        "1 → 2",
    ): "any negative number is no limit",
    (
        "solvers/network/stochastic.py",
        "unlimited = budget.but(max_iter=-1)  # SciPy counts the steps",
        "1 → 2",
    ): "any negative number is no limit",
    (
        "solvers/linear/penalised_regression.py",
        "found = TiltedVertices().run(problem, gram, budget.but(max_iter=-1), None)",
        "1 → 2",
    ): "any negative number is no limit",
    (
        "solvers/linear/penalised_regression.py",
        "few, unlimited = min(A.shape), budget.but(max_iter=-1)",
        "1 → 2",
    ): "any negative number is no limit",
    (
        "solvers/svm/weight_newton.py",
        "budget = self.budget.but(tol=min(_TOL, self.budget.tol), gap=self.inner, max_iter=-1)",
        "1 → 2",
    ): "any negative number is no limit",
    (
        "solvers/svm/weight_newton.py",
        "begins = [part.feasible(b) for (_, part), b in zip(self.problem.parts, start, strict=True)]",  # noqa: E501
        "→ False",
    ): "there are multipliers for each part",
    (
        "solvers/svm/weight_newton.py",
        "for j, ((rows, part), beta) in enumerate(zip(problem.parts, multipliers, strict=True))",
        "→ False",
    ): "there are multipliers for each part",
    (
        "solvers/ridge_changes.py",
        "[vote * spread.left_out for vote, spread in zip(votes, spreads, strict=True)]",
        "→ False",
    ): "there is a spread for each machine",
    (
        "solvers/ridge_changes.py",
        "parts = [np.abs(v) * b for v, b in zip(votes, bounds, strict=True) if b is not None]",
        "→ False",
    ): "there is a bound for each machine",
    (
        "solvers/ridge_path.py",
        "for part, alpha in zip(answer, alphas, strict=True):",
        "→ False",
    ): "there is an answer for each λ",
    (
        "solvers/ridge_path.py",
        "flat = self.vectors @ scaled.reshape(len(turned), -1)",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "solvers/linear/secant_memory.py",
        "self.count % _PAIRS if kept == _PAIRS else 0, scales.ravel(), v.reshape(-1),",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "solvers/linear/logistic_spaces.py",
        "factor = linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=False)",
        "→ False",
    ): "the matrix is not used again, and its other half is the same",
    (
        "solvers/svm/forced_moves.py",
        "if not 0 < k <= MOST_FREE:",
        "Lt → LtE",
    ): "a system of a single 0 has no inverse either",
    (
        "solvers/linear/least_norm.py",
        "Q = linalg.orth(Z) if Z.shape[1] else np.zeros((len(A), 0))",
        "0 → 1",
    ): "a column of zeros takes nothing off",
    (
        "solvers/linear/gram_cache.py",
        "cross = self.design.gram(new, self.columns) if old else np.empty((size, 0))",
        "0 → 1",
    ): "without old columns nobody reads it",
    (
        "solvers/svm/interior.py",
        "return 400 * gram.shape[0] <= cache_bytes  # 25 numbers for each of two variables a row",
        "0 → 1",
    ): "the matrix is square",
    (
        "solvers/svm/interior.py",
        "n = int(problem.row.max()) + 1",
        "max → min",
    ): "sums by rows have a place for each row in use, whatever the least number of places",
    (
        "solvers/linear/least_norm.py",
        "slope = np.where(base > 0, z * base ** (p / 2 - 1), 0.0)",
        "Gt → GtE",
    ): "from p = 2 on a residual of zero has no slope anyway, and below residuals are smoothed",
    (
        "solvers/network/online_rules.py",
        "if len(values) <= count:",
        "LtE → Lt",
    ): "all of them, in order, either way",
}
"""(module, line as it is written, change) → why the answers are the same."""

"""Changes of the source that no test can notice, each with its reason.

They were read one by one: the changed line gives the same answers, and a number in it steers at
most how fast they come.
"""

EQUAL: dict[tuple[str, str, str], str] = {
    (
        "_files/atomic.py",
        'new = target.parent / f".{secrets.token_hex(8)}.tmp"',
        "8 → 9",
    ): "a longer name of a file that nobody sees",
    (
        "_files/container.py",
        'handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))',  # noqa: E501
        "0 → 1",
    ): "a flag that is there on every system that has the test",
    (
        "_files/container.py",
        "if len(start) < _FIXED.size or start[: len(MAGIC)] != MAGIC:",
        "Or → And",
    ): "a file of another kind is read whole, and refused for the same cause",
    (
        "_files/container.py",
        "return flat.reshape(-1).view(np.uint8).data",
        "1 → 2",
    ): "NumPy takes any negative length as the one that fits",
    (
        "_files/container.py",
        "start = _FIXED.pack(MAGIC, VERSION, 0, len(text), length, bytes(32))[:32]",
        "32 → 33",
    ): "the last byte is cut off again",
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
        "problems/norm_check.py",
        "j = (i + step) % n",
        "Add → Sub",
    ): "the triangle inequality of the same pairs, from the other end",
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
        "problems/penalties.py",
        "return np.where(r > 0, self.tau, self.tau - 1)",
        "Gt → GtE",
    ): "any of the slopes at a kink",
    (
        "problems/penalties.py",
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
        "problems/penalties.py",
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
        "open_slopes = np.where(r > 0, beta < self.hi, beta > self.lo)",
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
    ): "the matrix is square",
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
}
"""(module, line as it is written, change) → why the answers are the same."""

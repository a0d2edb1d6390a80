"""Shapley values of every form of kernel and every machine, against all 2^d coalitions.

The worth of all coalitions is an array, in the order of their bits; it is made column by column.
"""

import math
from itertools import combinations

import numpy as np
import pytest

import mercer as m

EXACT = 1e-12
"""What values may differ by, for each unit of the sum of all ∣α∣."""
SIZES = [8, *(pytest.param(d, marks=pytest.mark.attack) for d in (10, 12))]
ROWS, NEW, OTHERS = 30, 2, 3


def shapley(worth):
    """Return the values of d players by their definition, from the worth of all 2^d coalitions."""
    players = len(worth).bit_length() - 1
    sizes = np.array([bits.bit_count() for bits in range(len(worth))])
    orders = [math.factorial(s) * math.factorial(players - s - 1) for s in range(players)]
    shares = np.array(orders, dtype=float) / math.factorial(players)
    values = []
    for j in range(players):
        without = np.flatnonzero(~np.arange(len(worth)) >> j & 1)
        gains = worth[without | 1 << j] - worth[without]
        values.append(np.tensordot(shares[sizes[without]], gains, axes=1))
    return np.array(values)


def known(columns):
    """Return which columns each coalition knows, a row each."""
    return (np.arange(2**columns)[:, None] >> np.arange(columns) & 1).astype(bool)


# ---- kernels by their formulas -----------------------------------------------------------------
#
# A form says what a kernel is worth to every coalition: an array (2^d, points), from the columns of
# the points and of one row. A column that is not known has the factor 1 and the term 0.


def product(factor, columns=None):
    """Return the form Π_j factor(x_j, z_j, j)."""

    def form(points, row):
        worth = np.ones((1, len(points)))
        for j, (x, z) in enumerate(zip(points.T, row, strict=True)):
            own = 1.0 if columns is not None and j not in columns else factor(x, z, j)
            worth = np.concatenate([worth, worth * own])
        return worth

    return form


def sums(term, columns=None):
    """Return the form Σ_j term(x_j, z_j, j)."""

    def form(points, row):
        worth = np.zeros((1, len(points)))
        for j, (x, z) in enumerate(zip(points.T, row, strict=True)):
            own = 0.0 if columns is not None and j not in columns else term(x, z, j)
            worth = np.concatenate([worth, worth + own])
        return worth

    return form


def of(function, *forms):
    """Return the form that is a function of the worths of others."""
    return lambda points, row: function(*(form(points, row) for form in forms))


def lengths(d):
    return np.linspace(0.8, 3.0, d).tolist()


def gaussian(rate, columns=None):
    return product(lambda x, z, j: np.exp(-rate * (x - z) ** 2), columns)


def laplacian(rate, columns=None):
    return product(lambda x, z, j: np.exp(-rate * np.abs(x - z)), columns)


def dots(columns=None):
    return sums(lambda x, z, j: x * z, columns)


def equal(columns=None):
    return product(lambda x, z, j: (x == z).astype(float), columns)


def squares(d):
    return sums(lambda x, z, j: ((x - z) / lengths(d)[j]) ** 2)


def periodic(x, z, j):
    return np.exp(-2 * np.sin(np.pi * (x - z) / 2.5) ** 2 / 1.5**2)


def chi2(x, z):
    total = x + z
    return np.divide((x - z) ** 2, total, out=np.zeros_like(total), where=total > 0)


FORMS = {
    "RBF": lambda d: (m.RBF(gamma=0.1), gaussian(0.1)),
    "ARD": lambda d: (
        m.RBF(length_scale=lengths(d)),
        product(lambda x, z, j: np.exp(-0.5 * ((x - z) / lengths(d)[j]) ** 2)),
    ),
    "Laplacian": lambda d: (m.Laplacian(0.2), laplacian(0.2)),
    "Laplacian ARD": lambda d: (
        m.Laplacian(length_scale=lengths(d)),
        product(lambda x, z, j: np.exp(-np.abs(x - z) / lengths(d)[j])),
    ),
    "periodic": lambda d: (m.Periodic(2.5, 1.5), product(periodic)),
    "exponential chi2": lambda d: (m.Chi2(0.4), product(lambda x, z, j: np.exp(-0.4 * chi2(x, z)))),
    "delta": lambda d: (m.Delta(), equal()),
    "product of kernels on columns": lambda d: (
        m.RBF(gamma=0.1).on(*range(d // 2)) * m.Laplacian(0.2).on(*range(d // 2, d)),
        of(np.multiply, gaussian(0.1, range(d // 2)), laplacian(0.2, range(d // 2, d))),
    ),
    "product with categories": lambda d: (
        m.Delta().on(0, 3) * m.RBF(gamma=0.1).on(*range(4, d)) * m.Periodic(2.5, 1.5).on(1, 2),
        of(
            lambda a, b, c: a * b * c,
            equal((0, 3)), gaussian(0.1, range(4, d)), product(periodic, (1, 2)),
        ),
    ),
    "product of kernels on the same columns": lambda d: (
        m.RBF(gamma=0.1) * m.Laplacian(0.1),
        of(np.multiply, gaussian(0.1), laplacian(0.1)),
    ),
    "product with a sum": lambda d: (
        m.RBF(gamma=0.1).on(*range(3, d)) * m.Linear().on(0, 1, 2),
        of(np.multiply, gaussian(0.1, range(3, d)), dots((0, 1, 2))),
    ),
    "sums and scalings": lambda d: (
        0.5 * m.RBF(gamma=0.1) + 2.0 * m.Laplacian(0.3).on(1, 2, 5) + 0.1 * m.Linear(),
        of(
            lambda a, b, c: 0.5 * a + 2 * b + 0.1 * c,
            gaussian(0.1), laplacian(0.3, (1, 2, 5)), dots(),
        ),
    ),
    "mixed table": lambda d: (
        m.Delta().on(0) * m.RBF(gamma=0.3).on(1, 2) + m.Overlap().on(3, 4) + m.Constant(0.7)
        + m.RBF(gamma=0.1).on(*range(5, d)),
        of(
            lambda a, b, c, e: a * b + c / 2 + 0.7 + e,
            equal((0,)), gaussian(0.3, (1, 2)),
            sums(lambda x, z, j: (x == z).astype(float), (3, 4)), gaussian(0.1, range(5, d)),
        ),
    ),
    "linear": lambda d: (m.Linear(), dots()),
    "polynomial of degree 2": lambda d: (
        m.Polynomial(2, 0.1, 0.5), of(lambda s: (0.1 * s + 0.5) ** 2, dots()),
    ),
    "polynomial of degree 3": lambda d: (
        m.Polynomial(3, 0.1, 0.5), of(lambda s: (0.1 * s + 0.5) ** 3, dots()),
    ),
    "polynomial of degree 6": lambda d: (
        m.Polynomial(6, 0.05, 0.5), of(lambda s: (0.05 * s + 0.5) ** 6, dots()),
    ),
    "power of a product": lambda d: (
        (m.RBF(gamma=0.1).on(0, 1, 2) * m.Laplacian(0.1).on(*range(3, d))) ** 3,
        of(lambda a, b: (a * b) ** 3, gaussian(0.1, range(3)), laplacian(0.1, range(3, d))),
    ),
    "exponential of a sum": lambda d: (
        (0.1 * m.Linear()).exp(), of(lambda s: np.exp(0.1 * s), dots()),
    ),
    "additive RBF": lambda d: (
        sum((m.RBF(gamma=0.3).on(j) for j in range(1, d)), m.RBF(gamma=0.3).on(0)),
        # The kernel of one column is worth 1 where it is not known.
        of(lambda s: s + d, sums(lambda x, z, j: np.exp(-0.3 * (x - z) ** 2) - 1)),
    ),
    "intersection": lambda d: (m.Intersection(), sums(lambda x, z, j: np.minimum(x, z))),
    "additive chi2": lambda d: (m.AdditiveChi2(), sums(lambda x, z, j: -chi2(x, z))),
    "overlap": lambda d: (m.Overlap(), sums(lambda x, z, j: (x == z) / d)),
}  # fmt: skip
MIXTURES = {
    "Laplacian of the L2 norm": lambda d: (
        m.Matern(nu=0.5, length_scale=lengths(d)), of(lambda s: np.exp(-np.sqrt(s)), squares(d)),
    ),
    "Matérn 3/2": lambda d: (
        m.Matern(nu=1.5, length_scale=lengths(d)),
        of(lambda s: (1 + np.sqrt(3 * s)) * np.exp(-np.sqrt(3 * s)), squares(d)),
    ),
    "Matérn 5/2": lambda d: (
        m.Matern(nu=2.5, length_scale=lengths(d)),
        of(lambda s: (1 + np.sqrt(5 * s) + 5 * s / 3) * np.exp(-np.sqrt(5 * s)), squares(d)),
    ),
    "rational quadratic": lambda d: (
        m.RationalQuadratic(alpha=0.7, length_scale=lengths(d)),
        of(lambda s: (1 + s / 1.4) ** -0.7, squares(d)),
    ),
    "scaled Matérn times delta": lambda d: (
        2.0 * m.Matern(nu=1.5, length_scale=lengths(d)) * m.Delta().on(0),
        of(
            lambda s, same: 2 * (1 + np.sqrt(3 * s)) * np.exp(-np.sqrt(3 * s)) * same,
            squares(d), equal((0,)),
        ),
    ),
}  # fmt: skip
COUNTS = ("exponential chi2", "intersection", "additive chi2")
CATEGORIES = ("delta", "overlap", "categories", "mixed table")


def data(d, name=""):
    """Return rows to learn from, targets, and rows to explain: numbers that the kernel can read."""
    random = np.random.default_rng(d)
    X = random.normal(size=(ROWS + NEW, d))
    if name in COUNTS:
        X = np.abs(X)
    elif any(word in name for word in CATEGORIES):
        X = random.integers(0, 2, size=X.shape).astype(float)
    target = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=len(X))
    return X[:ROWS], target[:ROWS], X[ROWS:]


def fitted(kernel, X, y):
    """Return a machine with this kernel and its multipliers of all rows."""
    if kernel.definite is m.Definite.CONDITIONAL:  # no ridge: only sums that are 0 are definite
        machine = m.SVR(kernel=kernel).fit(X, y)
        alpha = np.zeros(len(X))
        alpha[machine.support_] = machine.dual_coef_[0]
        return machine, alpha
    machine = m.KernelRidge(alpha=1.0, kernel=kernel).fit(X, y)
    return machine, machine.dual_coef_


def by_mixed_rows(answer, new, others):
    """Return the values of the interventional game: the machine answers every mixture of rows."""
    S = known(new.shape[1])
    values = []
    for row in new:
        worth = sum(np.asarray(answer(np.where(S, row, other))) for other in others) / len(others)
        values.append(shapley(worth))
    return np.array(values)


def check(name, d, error, allowed):
    print(f"{name}, d = {d}: {error:.1e} of {allowed:.1e}")
    assert error <= allowed


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("name", FORMS)
def test_forms_of_kernels(name, d):
    kernel, form = FORMS[name](d)
    X, y, new = data(d, name)
    machine, alpha = fitted(kernel, X, y)
    size = np.abs(alpha).sum()
    found = m.explain(machine, new)
    assert found.error == 0
    wanted = np.array([shapley(form(X, row) @ alpha) for row in new])
    check(f"{name}, kernel", d, np.abs(found.values - wanted).max() / size, EXACT)

    found = m.explain(machine, new, game="interventional", background=X[:OTHERS])
    wanted = by_mixed_rows(machine.predict, new, X[:OTHERS])
    check(f"{name}, interventional", d, np.abs(found.values - wanted).max() / size, EXACT)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures(name, d):
    kernel, form = MIXTURES[name](d)
    X, y, new = data(d, name)
    machine, alpha = fitted(kernel, X, y)
    size = np.abs(alpha).sum()
    found = m.explain(machine, new)
    assert 0 < found.error < 1e-6 * size
    wanted = np.array([shapley(form(X, row) @ alpha) for row in new])
    stated = found.error / size
    check(f"{name}, kernel", d, np.abs(found.values - wanted).max() / size, stated)

    found = m.explain(machine, new, game="interventional", background=X[:OTHERS])
    wanted = by_mixed_rows(machine.predict, new, X[:OTHERS])
    check(f"{name}, interventional", d, np.abs(found.values - wanted).max() / size, stated)


# ---- machines ----------------------------------------------------------------------------------


def gp(**more):
    return m.GaussianProcessRegressor(m.RBF(length_scale=2.0), alpha=0.1, optimizer=None, **more)


MACHINES = {
    "SVC": (m.SVC(gamma=0.1), 2),
    "SVC, pairs of classes": (m.SVC(gamma=0.1, decision_function_shape="ovo"), 3),
    "SVC, each class": (m.SVC(gamma=0.1, multi_class="ovr"), 3),
    "SVC, all classes at once": (m.SVC(gamma=0.1, multi_class="crammer_singer"), 3),
    "SVC on landmarks": (m.SVC(gamma=0.1, approximation=15), 2),
    "SVC on landmarks, pairs of classes": (
        m.SVC(gamma=0.1, approximation=15, decision_function_shape="ovo"), 3,
    ),
    "NuSVC": (m.NuSVC(gamma=0.1), 2),
    "SVR": (m.SVR(gamma=0.1), None),
    "SVR on landmarks": (m.SVR(gamma=0.1, approximation=15), None),
    "NuSVR": (m.NuSVR(gamma=0.1), None),
    "OneClassSVM": (m.OneClassSVM(gamma=0.1), None),
    "KernelRidge": (m.KernelRidge(kernel="rbf", gamma=0.1), None),
    "KernelRidge on landmarks": (m.KernelRidge(kernel="rbf", gamma=0.1, approximation=15), None),
    "KernelRidge with intercept": (
        m.KernelRidge(kernel="rbf", gamma=0.1, fit_intercept=True), None,
    ),
    "KernelRidgeClassifier": (m.KernelRidgeClassifier(1.0, gamma=0.1), 3),
    "GP": (gp(), None),
    "GP of scaled targets": (gp(normalize_y=True), None),
    "GP on landmarks": (gp(approximation=15), None),
    "KernelLogisticRegression": (m.KernelLogisticRegression(gamma=0.1), 2),
    "KernelLogisticRegression, several": (m.KernelLogisticRegression(gamma=0.1), 3),
    "KernelLogisticRegression on landmarks": (
        m.KernelLogisticRegression(gamma=0.1, approximation=15), 3,
    ),
    "LaplacianSVC": (m.LaplacianSVC(kernel=m.RBF(gamma=0.1)), 3),
    "LaplacianRidge": (m.LaplacianRidge(kernel=m.RBF(gamma=0.1)), None),
    "KernelPerceptron": (m.KernelPerceptron(m.RBF(gamma=0.1), max_iter=10), 3),
    "StreamedRidge": (m.StreamedRidge(kernel=m.RBF(gamma=0.1), approximation=15), None),
    "StreamedClassifier": (m.StreamedClassifier(kernel=m.RBF(gamma=0.1), approximation=15), 3),
}  # fmt: skip


def as_classes(y, count):
    """Return classes of equal size."""
    return np.searchsorted(np.quantile(y, np.arange(1, count) / count), y)


def answers(machine):
    return getattr(machine, "decision_function", machine.predict)


def by_class(values, machine):
    """Return the functions of classes from those of pairs, where a machine has these."""
    count = len(getattr(machine, "classes_", ()))
    if count < 3 or getattr(machine, "multi_class", "ovr") != "ovo":
        return values
    total = np.zeros((*values.shape[:-1], count))
    for at, (first, second) in enumerate(combinations(range(count), 2)):
        total[..., first] += values[..., at]
        total[..., second] -= values[..., at]
    return total


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_machines(name, d):
    machine, classes = MACHINES[name]
    X, y, new = data(d)
    if classes is not None:
        y = as_classes(y, classes)
    machine.fit(X, y)
    expansion, constants = machine.function_expansion()
    points = expansion.points[expansion.kernel.encoder].values
    length = expansion.kernel.free_parameters().get("length_scale")
    form = gaussian(0.1 if length is None else 0.5 / length**2)
    size = np.abs(expansion.coefficients).sum()

    found = m.explain(machine, new)
    worth = [form(points, row) @ expansion.coefficients + constants for row in new]
    wanted = np.array([by_class(shapley(one), machine) for one in worth])
    error = np.abs(found.values - wanted.reshape(found.values.shape)).max() / size
    check(f"{name}, kernel", d, error, EXACT)
    assert np.abs(found.answers - by_class(answers(machine)(new), machine)).max() <= EXACT * size

    found = m.explain(machine, new, game="interventional", background=X[:OTHERS])
    wanted = by_class(by_mixed_rows(answers(machine), new, X[:OTHERS]), machine)
    error = np.abs(found.values - wanted).max() / size
    check(f"{name}, interventional", d, error, EXACT)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("classes", [2, 3, None], ids=["two classes", "three classes", "number"])
def test_votes(classes, d):
    X, y, new = data(d)
    if classes is None:
        machine = m.AutoRegressor().fit(X, y)
    else:
        machine = m.AutoClassifier().fit(X, as_classes(y, classes))
    voters, constants = machine.voter_functions()
    size = sum(np.abs(voter.expansion.coefficients).sum() for voter in voters)
    found = m.explain(machine, new)
    allowed = EXACT + found.error / size  # some members are mixtures

    worth = np.repeat(constants[None, None, :], 2**d, axis=0)
    for voter in voters:
        f, owners = voter.expansion, [int(owner) for owner in voter.owners]
        points, rows = f.points[f.kernel.encoder].values, voter.coordinates(new)
        # A coordinate that is not known adds nothing to a distance or a product.
        worth = worth + np.array(
            [
                f.kernel(np.where(S[owners], rows, 0.0), np.where(S[owners], points, 0.0))
                @ f.coefficients
                for S in known(d)
            ]
        )
    wanted = np.moveaxis(shapley(worth), 0, 1).reshape(found.values.shape)
    check(f"vote, {classes}, kernel", d, np.abs(found.values - wanted).max() / size, allowed)

    found = m.explain(machine, new, game="interventional", background=X[:OTHERS])
    wanted = by_mixed_rows(answers(machine), new, X[:OTHERS])
    error = np.abs(found.values - wanted).max() / size
    check(f"vote, {classes}, interventional", d, error, EXACT + found.error / size)

"""Exact Shapley values, against the sum over all coalitions."""

import math
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import mercer as m
from mercer.exceptions import InvalidParameter, NoExplanation
from mercer.kernels.coalitions import gauss, product_nodes

random = np.random.default_rng(0)
X = random.normal(size=(40, 5))
Z = random.normal(size=(3, 5))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
TWO = (Y > 0).astype(int)
THREE = np.digitize(Y, [-0.5, 0.5])


def by_coalitions(worth, columns):
    """Return Shapley values by their definition, of a function of sets of columns."""
    values = []
    for j in range(columns):
        others = [column for column in range(columns) if column != j]
        total = 0.0
        for size in range(columns):
            weight = math.factorial(size) * math.factorial(columns - size - 1)
            for chosen in combinations(others, size):
                total += weight * (worth({*chosen, j}) - worth(set(chosen)))
        values.append(total / math.factorial(columns))
    return np.array(values)


def one_column(kernel, j):
    """Return a plain function of two numbers: the kernel of column j."""
    if isinstance(kernel, m.RBF):
        lengths = kernel.length_scale
        rate = kernel.gamma if lengths is None else 0.5 / np.broadcast_to(lengths, 5)[j] ** 2
        return lambda x, z: math.exp(-rate * (x - z) ** 2)
    if isinstance(kernel, m.Laplacian):
        return lambda x, z: math.exp(-kernel.gamma * abs(x - z))
    if isinstance(kernel, m.Periodic):
        return lambda x, z: math.exp(
            -2 * math.sin(math.pi * (x - z) / kernel.period) ** 2 / kernel.length_scale**2
        )
    raise TypeError(kernel)


PRODUCTS = [
    m.RBF(gamma=0.3),
    m.RBF(length_scale=[1.0, 2.0, 0.5, 3.0, 0.7]),
    m.Laplacian(0.4),
    m.Periodic(2.0, 1.5),
]


@pytest.mark.parametrize("kernel", PRODUCTS, ids=str)
def test_products_over_columns_equal_the_sum_over_all_coalitions(kernel):
    machine = m.KernelRidge(alpha=0.1, kernel=kernel).fit(X, Y)
    found = m.explain(machine, Z)
    factors = [one_column(kernel, j) for j in range(5)]

    def worth(row, known):
        return sum(
            a * math.prod(factors[j](x[j], row[j]) for j in known)
            for a, x in zip(machine.dual_coef_, X, strict=True)
        )

    for row, values in zip(Z, found.values, strict=True):
        wanted = by_coalitions(lambda known, row=row: worth(row, known), 5)
        assert np.abs(values - wanted).max() <= 1e-12 * np.abs(machine.dual_coef_).sum()
    assert found.error == 0
    assert found.base == pytest.approx(machine.dual_coef_.sum(), abs=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_polynomials_equal_the_sum_over_all_coalitions(degree):
    kernel = m.Polynomial(degree, 0.4, 0.7)
    machine = m.KernelRidge(alpha=1.0, kernel=kernel).fit(X, Y)
    found = m.explain(machine, Z)

    def worth(row, known):
        dots = sum((0.4 * X[:, j] * row[j] for j in known), np.zeros(len(X)))
        return machine.dual_coef_ @ (dots + 0.7) ** degree

    scale = np.abs(machine.dual_coef_).sum() * np.abs(kernel(X, Z)).max()
    for row, values in zip(Z, found.values, strict=True):
        wanted = by_coalitions(lambda known, row=row: worth(row, known), 5)
        assert np.abs(values - wanted).max() <= 1e-12 * scale


@pytest.mark.parametrize(
    "kernel",
    [m.Matern(nu=0.5, length_scale=2.0), m.Matern(nu=1.5, length_scale=1.0),
     m.RationalQuadratic(alpha=0.7, length_scale=[1.0, 2.0, 0.5, 3.0, 0.7])],
    ids=str,
)  # fmt: skip
def test_mixtures_are_within_their_stated_error(kernel):
    machine = m.KernelRidge(alpha=0.1, kernel=kernel).fit(X, Y)
    found = m.explain(machine, Z)
    scales = np.broadcast_to(kernel.length_scale, 5)

    def worth(row, known):
        s = sum((((X[:, j] - row[j]) / scales[j]) ** 2 for j in known), np.zeros(len(X)))
        return machine.dual_coef_ @ kernel.profile(s)

    assert 0 < found.error < 1e-6 * np.abs(machine.dual_coef_).sum()
    for row, values in zip(Z, found.values, strict=True):
        wanted = by_coalitions(lambda known, row=row: worth(row, known), 5)
        assert np.abs(values - wanted).max() <= found.error


def test_the_interventional_game_puts_other_rows_where_a_column_is_not_known():
    machine = m.SVC(C=2.0, gamma=0.2).fit(X, TWO)
    others = X[10:17]
    found = m.explain(machine, Z, game="interventional", background=others)

    def worth(row, known):
        mixed = others.copy()
        mixed[:, list(known)] = row[list(known)]
        return machine.decision_function(mixed).mean()

    for row, values in zip(Z, found.values, strict=True):
        wanted = by_coalitions(lambda known, row=row: worth(row, known), 5)
        assert np.abs(values - wanted).max() <= 1e-12
    assert found.base == pytest.approx(machine.decision_function(others).mean(), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 20), st.integers(0, 10**6),
    st.sampled_from(["rbf", "laplacian", "poly", "linear"]),
)  # fmt: skip
def test_shares_add_up_and_unused_columns_get_nothing(columns, rows, seed, kernel):
    draw = np.random.default_rng(seed)
    A = draw.normal(size=(rows + 1, columns))
    A[:, 0] = 1.0  # the same everywhere: its factor is 1
    machine = m.KernelRidge(alpha=1.0, kernel=kernel, gamma=0.3).fit(A, draw.normal(size=rows + 1))
    found = m.explain(machine, A)
    size = max(1.0, np.abs(machine.dual_coef_).sum() * np.abs(machine.kernel_(A)).max())
    assert np.abs(found.answers - machine.predict(A)).max() <= 1e-12 * size
    if kernel in ("rbf", "laplacian"):
        assert np.abs(found.values[:, 0]).max() == 0


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        (m.SVC(), TWO), (m.NuSVC(), TWO), (m.SVR(), Y), (m.NuSVR(), Y), (m.OneClassSVM(), None),
        (m.SVC(kernel="poly"), TWO), (m.SVC(multi_class="ovr"), THREE),
        (m.SVC(multi_class="crammer_singer"), THREE),
        (m.KernelRidge(kernel="rbf", fit_intercept=True), np.c_[Y, -Y]),
        (m.GaussianProcessRegressor(m.RBF(length_scale=1.0) + m.White(0.1)), Y),
        (m.KernelLogisticRegression(), TWO), (m.KernelLogisticRegression(), THREE),
        (m.SVC(approximation=15), TWO), (m.KernelRidge(kernel="rbf", approximation=15), Y),
        (m.KernelLogisticRegression(approximation=15), THREE),
        (m.KernelRidgeClassifier(1.0), TWO), (m.KernelRidgeClassifier(1.0), THREE),
        (m.KernelRidgeClassifier(1.0, approximation=15), THREE),
        (m.GaussianProcessRegressor(m.RBF(length_scale=1.0) + m.White(0.1), approximation=15), Y),
        (m.Ridge(), Y), (m.LogisticRegression(), THREE), (m.LinearSVC(), TWO),
    ],
    ids=lambda value: str(value)[:60] if hasattr(value, "fit") else "",
)  # fmt: skip
@pytest.mark.parametrize("game", ["kernel", "interventional"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_machine_that_is_an_expansion(machine, target, game):
    machine.fit(X, target)
    background = X[:4] if game == "interventional" else None
    found = m.explain(machine, Z, game=game, background=background)
    answer = getattr(machine, "decision_function", machine.predict)(Z)
    assert found.answers.shape == np.shape(answer)
    assert np.abs(found.answers - answer).max() <= 1e-11
    if game == "interventional":
        wanted = by_mixed_rows(getattr(machine, "decision_function", machine.predict), X[:4])
        assert np.abs(found.values - wanted).max() <= 1e-11


def by_mixed_rows(answer, background):
    """Return Shapley values by their definition, asking a machine for rows of mixed columns."""
    values = []
    for row in Z:
        worths = {}
        for bits in range(2**5):
            known = [j for j in range(5) if bits >> j & 1]
            mixed = background.copy()
            mixed[:, known] = row[known]
            worths[frozenset(known)] = np.asarray(answer(mixed)).mean(axis=0)
        values.append(by_coalitions(lambda known, of=worths: of[frozenset(known)], 5))
    return np.array(values)


@pytest.mark.parametrize(
    "kernel",
    [
        m.Linear(),
        m.RBF(gamma=0.2).on(0, 1) * m.Laplacian(0.3).on(2, 3, 4),
        0.5 * m.RBF(gamma=0.2) + 2.0 * m.Linear().on(1, 2) + m.Polynomial(3, 0.2, 1.0).on(3, 4),
        m.RBF(gamma=0.2).on(0) * m.Linear().on(1) + m.Constant(0.7),
        m.RBF(gamma=0.3) * m.Periodic(2.0, 1.5),
        (m.RBF(gamma=0.3).on(0, 1, 2) * m.Laplacian(0.1).on(3, 4)) ** 2,
        m.Delta().on(0) * m.RBF(gamma=0.3).on(1, 2) + m.Delta().on(3),
        (0.2 * m.Linear()).exp(),
    ],
    ids=str,
)
def test_sums_and_products_of_kernels_equal_the_sum_over_all_coalitions(kernel):
    coarse = np.round(X)  # so that some categories are equal
    machine = m.KernelRidge(alpha=1.0, kernel=kernel).fit(coarse, Y)
    found = m.explain(machine, Z, game="interventional", background=coarse[:6])
    wanted = by_mixed_rows(machine.predict, coarse[:6])
    size = np.abs(machine.dual_coef_).sum() * max(1.0, np.abs(kernel(coarse, Z)).max())
    values = np.zeros((3, 5))  # who is not looked at is no player
    values[:, [int(name[1:]) for name in found.names]] = found.values
    assert np.abs(values - wanted).max() <= 1e-12 * size


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        (m.SVC(), TWO), (m.SVC(multi_class="ovr"), THREE), (m.SVR(), Y), (m.OneClassSVM(), None),
        (m.KernelRidge(kernel="rbf"), Y), (m.KernelLogisticRegression(), THREE),
        (m.GaussianProcessRegressor(m.RBF(length_scale=1.5), alpha=0.1, optimizer=None), Y),
        (m.KernelRidgeClassifier(1.0), THREE), (m.KernelRidge(kernel="rbf", approximation=15), Y),
    ],
    ids=lambda value: str(value)[:60] if hasattr(value, "fit") else "",
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_machines_play_the_kernel_game(machine, target):
    """An unknown column has an endless length scale: its factor is 1."""
    expansion, constants = machine.fit(X, target).function_expansion()
    rate = expansion.kernel.free_parameters()
    length = rate.get("length_scale") or (0.5 / rate["gamma"]) ** 0.5
    found = m.explain(machine, Z)

    def worth(row, known):
        lengths = [length if j in known else 1e150 for j in range(5)]
        kernel = m.RBF(length_scale=lengths)
        return (m.Expansion(kernel, expansion.points, expansion.coefficients)([row]) + constants)[0]

    size = np.abs(expansion.coefficients).sum()
    for row, values in zip(Z, found.values, strict=True):
        wanted = by_coalitions(lambda known, row=row: worth(row, known), 5)
        assert np.abs(values - wanted.reshape(values.shape)).max() <= 1e-12 * size


def test_pairs_of_classes_add_up_to_classes():
    machine = m.SVC(decision_function_shape="ovo").fit(X, THREE)
    pairs = machine.decision_function(Z)  # 0 against 1, 0 against 2, 1 against 2
    wanted = np.c_[pairs[:, 0] + pairs[:, 1], pairs[:, 2] - pairs[:, 0], -pairs[:, 1] - pairs[:, 2]]
    assert np.abs(m.explain(machine, Z).answers - wanted).max() <= 1e-12


@settings(max_examples=60, deadline=None)
@given(
    columns=st.integers(1, 120),
    width=st.floats(1e-4, 1e3),
    elsewhere=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_fewer_nodes_are_as_exact_as_all(columns, width, elsewhere, seed):
    draw = np.random.default_rng(seed)
    factors = np.exp(-width * draw.normal(size=(7, columns)) ** 2)
    absent = (
        np.exp(-width * draw.normal(size=(7, columns)) ** 2) if elsewhere else np.ones((1, columns))
    )
    nodes, weights = gauss(-(-columns // 2))
    line = absent[:, None, :] + nodes[:, None] * (factors - absent)[:, None, :]
    count = product_nodes(factors, absent)
    few, few_weights = gauss(count)
    short = absent[:, None, :] + few[:, None] * (factors - absent)[:, None, :]
    for j in range(columns):
        rest = [other for other in range(columns) if other != j]
        wanted = line[:, :, rest].prod(axis=2) @ weights
        # Nodes and weights are rounded themselves, which is the larger part of the difference.
        assert np.abs(short[:, :, rest].prod(axis=2) @ few_weights - wanted).max() < 1e-14
    assert count <= -(-columns // 2)


def test_larger_factors_take_all_nodes():
    assert product_nodes(np.full((2, 40), 1.5), np.ones((1, 40))) == 20
    assert product_nodes(np.full((2, 40), 0.999), np.ones((1, 40))) < 8


def test_five_hundred_columns_add_up():
    wide = random.normal(size=(30, 500))
    machine = m.KernelRidge(kernel="rbf", gamma=0.002).fit(wide, wide[:, 0])
    found = m.explain(machine, wide[:2])
    size = np.abs(machine.dual_coef_).sum()
    assert np.abs(found.answers - machine.predict(wide[:2])).max() <= 1e-12 * size


def test_columns_of_a_table_are_players_by_name():
    pd = pytest.importorskip("pandas")
    words = np.array(["acgt", "ggta", "ttac", "acac"])
    frame = pd.DataFrame({"dna": words[np.arange(40) % 4], "age": X[:, 0], "bmi": X[:, 1],
                          "sex": np.where(X[:, 2] > 0, "f", "m")})  # fmt: skip
    kernel = m.Spectrum(2).on("dna") + m.RBF(gamma=0.5).on("age", "bmi") * m.Delta().on("sex")
    machine = m.SVC(kernel=kernel).fit(frame, TWO)
    found = m.explain(machine, frame[:6])
    assert found.names == ["dna", "age", "bmi", "sex"]
    assert np.abs(found.answers - machine.decision_function(frame[:6])).max() <= 1e-12
    assert "strongest" in repr(found)


def test_columns_that_act_together_are_one_player():
    machine = m.SVC(kernel=m.Cosine().on(0, 1) + m.RBF(gamma=0.5).on(2, 3, 4)).fit(X, TWO)
    assert m.explain(machine, Z).names == ["x0 + x1", "x2", "x3", "x4"]


def test_a_pipeline_is_explained_behind_its_scaling():
    machine = make_pipeline(StandardScaler(), m.SVC()).fit(X, TWO)
    found = m.explain(machine, Z)
    assert found.names == [f"x{j}" for j in range(5)]
    assert np.abs(found.answers - machine.decision_function(Z)).max() <= 1e-12


def test_a_search_stands_for_its_best_machine():
    search = m.GridSearchCV(m.SVC(), {"C": [1.0, 10.0]}, cv=3).fit(X, TWO)
    assert (m.explain(search, Z).values == m.explain(search.best_estimator_, Z).values).all()


def test_columns_of_an_array_have_the_same_names_for_every_machine():
    names = [f"x{j}" for j in range(5)]
    assert m.explain(m.AutoClassifier(max_members=1).fit(X, TWO), Z).names == names
    assert m.explain(m.SVC().fit(X, TWO), Z).names == names


def test_threads_do_not_change_the_values():
    machine = m.SVR().fit(X, Y)
    one, two = (m.explain(machine, X, threads=threads).values for threads in (1, 2))
    assert (one == two).all()


@pytest.mark.parametrize("kernel", [m.Sigmoid(), m.Cosine(), (m.RBF(gamma=1.0) + m.Linear()) ** 2])
@pytest.mark.filterwarnings("ignore::mercer.exceptions.IndefiniteKernelWarning")
def test_kernels_that_split_in_no_way_are_refused(kernel):
    machine = m.KernelRidge(100.0, kernel=kernel).fit(X, Y)
    with pytest.raises(NoExplanation, match="permutation_importance"):
        m.explain(machine, Z)


def test_bad_requests_are_refused():
    machine = m.SVR().fit(X, Y)
    with pytest.raises(InvalidParameter, match="kernel, interventional"):
        m.explain(machine, Z, game="other")
    with pytest.raises(InvalidParameter, match="interventional"):
        m.explain(machine, Z, background=X)
    with pytest.raises(ValueError, match="4 columns"):
        m.explain(machine, Z[:, :4])
    with pytest.raises(NoExplanation, match="DecisionTreeClassifier"):
        m.explain(DecisionTreeClassifier().fit(X, TWO), Z)
    with pytest.raises(ValueError, match="fitted"):
        m.explain(m.SVR(), Z)
    with pytest.raises(ValueError, match="background"):
        m.explain(m.Ridge().fit(X, Y), Z, game="interventional")


# ---- votes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["two classes", "three classes", "number"])
def test_shares_of_a_vote_equal_the_sum_over_all_coalitions_of_columns(task):
    """A column is one player, whatever coordinates each member makes of it."""
    random = np.random.default_rng(4)
    n = 40
    colour = random.choice(["red", "green", "blue"], n)
    frame = pa.table(
        {"size": random.normal(size=n), "colour": colour, "grade": random.choice(4, n)}
    )
    signal = np.where(colour == "red", 1.0, -1.0) * frame["size"].to_numpy()
    machine = m.AutoRegressor() if task == "number" else m.AutoClassifier()
    y = {"number": signal, "two classes": signal > 0}.get(task, np.digitize(signal, [-0.4, 0.4]))
    machine.fit(frame, y)
    voters, constants = machine.voter_functions()
    few = frame.slice(0, 3)
    found = m.explain(machine, few)
    assert found.names == ["size", "colour", "grade"]
    answers = machine.predict(few) if task == "number" else machine.decision_function(few)
    np.testing.assert_allclose(found.answers, answers, rtol=1e-9, atol=1e-9)

    def worth(row, known):
        total = constants.copy()
        for voter in voters:
            inside = np.array([found.names.index(owner) in known for owner in voter.owners])
            f = voter.expansion
            points = f.points[f.kernel.encoder].values
            # A coordinate that is not known adds nothing to a distance or a product.
            there = np.where(inside, voter.coordinates(few)[[row]], 0.0)
            total = total + (f.kernel(there, np.where(inside, points, 0.0)) @ f.coefficients)[0]
        return total

    for row in range(2):
        for function in range(len(constants)):
            wanted = by_coalitions(lambda known, r=row, f=function: worth(r, known)[f], 3)
            shares = found.values[row] if found.values.ndim == 2 else found.values[row, :, function]
            np.testing.assert_allclose(shares, wanted, rtol=1e-7, atol=1e-9)


def test_an_unknown_column_of_a_vote_can_be_that_of_other_rows():
    table = m.read_table("heart")
    rows = table.frame.slice(0, 80)
    machine = m.AutoClassifier(max_members=1).fit(rows, table.target[:80])
    usual = table.frame.slice(80, 20)
    found = m.explain(machine, rows.slice(0, 4), game="interventional", background=usual)
    np.testing.assert_allclose(found.answers, machine.decision_function(rows.slice(0, 4)))
    assert found.base == pytest.approx(machine.decision_function(usual).mean())

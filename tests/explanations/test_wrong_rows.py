"""Answers that are proven to stand, against machines that were fitted on changed rows."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import mercer as m
from mercer.exceptions import InvalidInput, InvalidParameter

random = np.random.default_rng(0)
X = random.normal(size=(70, 3))
SCORE = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * random.normal(size=70)
TWO, THREE = (SCORE > 0).astype(int), np.digitize(SCORE, [-0.5, 0.5])
NEW = random.normal(size=(40, 3))
WEIGHTS = random.uniform(0.2, 2.0, size=70)
WORDS = ["".join(word) for word in random.choice(list("ab"), size=(110, 8))]

MACHINES = {
    "svm": m.SVC(),
    "svm, small C": m.SVC(C=0.1),
    "svm, tiny C": m.SVC(C=0.01, gamma=1.0),
    "svm, large C": m.SVC(C=10.0, gamma=0.05),
    "svm, narrow": m.SVC(C=0.3, gamma=5.0),
    "svm, linear": m.SVC(C=0.02, kernel="linear"),
    "svm, polynomial": m.SVC(C=0.01, kernel="poly", degree=2, coef0=1.0),
    "ridge": m.KernelRidgeClassifier(1.0),
    "ridge, small penalty": m.KernelRidgeClassifier(0.01),
    "ridge, no constant": m.KernelRidgeClassifier(3.0, fit_intercept=False),
    "ridge, chosen": m.KernelRidgeClassifier(),
}


@dataclass(frozen=True, eq=False)
class Table:
    """Training rows, labels of two and of three classes, new rows, weights."""

    X: np.ndarray
    two: np.ndarray
    three: np.ndarray
    new: np.ndarray
    weights: np.ndarray


OWN = Table(X, TWO, THREE, NEW, WEIGHTS)


def drawn_table(generator):
    """Draw a table: few or many rows and columns, rows that are equal, labels that are noise."""
    n, d = int(generator.integers(12, 90)), int(generator.integers(1, 6))
    points = generator.normal(size=(n + 40, d))
    if generator.random() < 0.4:
        points = np.round(points)  # many rows are equal, with labels that differ
    noise = generator.choice([0.05, 0.3, 1.5])
    score = np.sin(points[:, 0]) + points[:, -1] ** 2 + noise * generator.normal(size=n + 40)
    low, middle, high = np.quantile(score[:n], [0.3, generator.uniform(0.3, 0.7), 0.7])
    return Table(
        points[:n],
        (score[:n] > middle).astype(int),
        np.digitize(score[:n], [low, high]),
        points[n:],
        generator.uniform(0.2, 2.0, size=n),
    )


def harmful(table, machine, y, count, change, row, generator):
    """Return rows and labels after changes that hurt the answer to a row, with some chance."""
    kernel = machine.kernel_(table.X, table.new[row : row + 1])[:, 0]
    side = np.where(y == machine.predict(table.new[row : row + 1])[0], 1.0, -0.2)
    order = np.argsort(-side * kernel + generator.exponential(0.3, size=len(y)) * (kernel.max()))
    if generator.random() < 0.3:
        order = generator.permutation(len(y))
    chosen = order[:count]
    removed = generator.random(count) < {"any": 0.5, "removed": 1.0, "relabelled": 0.0}[change]
    labels = y.copy()
    others = generator.integers(1, len(machine.classes_), size=count)
    labels[chosen] = (labels[chosen] + others) % len(machine.classes_)
    return np.setdiff1d(np.arange(len(y)), chosen[removed]), labels


def fit_again(machine, rows, labels, weights, X=X):
    fixed = {"kernel": machine.kernel_}
    fixed |= {"tol": 1e-8} if isinstance(machine, m.SVC) else {"alpha": machine.alpha_}
    given = {} if weights is None else {"sample_weight": weights[rows]}
    return clone(machine).set_params(**fixed).fit(X[rows], labels[rows], **given)


def attack(names, refits, seed, own=True):
    """Change as many rows as are proven to do no harm, fit again, and count answers that flip.

    Each machine that was fitted again has to give all answers that were proven to stand so many
    changes, not only the one that they were meant to hurt. Return the fits, those with more than
    one changed row, and the answers that were compared.
    """
    generator = np.random.default_rng(seed)
    done = more = compared = 0
    while done < refits:
        table = OWN if own else drawn_table(generator)
        name = names[generator.integers(len(names))]
        several = name.startswith("ridge") and generator.random() < 0.3
        y = table.three if several else table.two
        weights = table.weights if generator.random() < 0.3 else None
        change = ("any", "removed", "relabelled")[generator.integers(3)]
        machine = clone(MACHINES[name]).fit(table.X, y, sample_weight=weights)
        found = m.wrong_rows(machine, table.X, y, table.new, weights, change=change)
        for row in generator.permutation(len(table.new))[:25]:
            count = int(found.counts[row]) - 1
            if count < 1:
                continue
            rows, labels = harmful(table, machine, y, count, change, row, generator)
            if len(set(labels[rows])) < len(machine.classes_):
                continue
            again = fit_again(machine, rows, labels, weights, table.X)
            values = again.decision_function(table.new)
            if values.ndim == 2:
                best = np.sort(values, axis=1)
                values = best[:, -1] - best[:, -2]
            sure = (found.counts > count) & (np.abs(values) >= 1e-6)
            flipped = sure & (again.predict(table.new) != found.predictions)
            assert not flipped.any(), (name, change, seed, done, np.flatnonzero(flipped))
            done, more, compared = done + 1, more + (count > 1), compared + int(sure.sum())
    return done, more, compared


@pytest.mark.parametrize("name", MACHINES)
def test_no_answer_flips_that_was_proven_to_stand(name):
    found = m.wrong_rows(clone(MACHINES[name]).fit(X, TWO), X, TWO, NEW)
    if (found.counts > 1).any():
        assert attack([name], 25, 1)[0] >= 25


def test_no_answer_flips_on_drawn_tables():
    assert attack(list(MACHINES), 100, 1, own=False)[0] >= 100


@pytest.mark.attack
@pytest.mark.parametrize("own", [True, False])
def test_no_answer_flips_in_ten_thousand_fits(own):
    done, more, compared = attack(list(MACHINES), 10_000, 2, own)
    print(f"{done:,} fits, {more:,} with more than one changed row, {compared:,} answers stood")


@pytest.mark.parametrize("name", ["svm, small C", "svm, narrow", "svm, tiny C", "svm"])
def test_no_single_change_flips_an_answer_that_was_proven_to_stand(name):
    machine = clone(MACHINES[name]).fit(X, TWO)
    found = m.wrong_rows(machine, X, TWO, NEW)
    removed = m.wrong_rows(machine, X, TWO, NEW, change="removed")
    assert (removed.counts >= found.counts).all()
    for i in range(70):
        labels = TWO.copy()
        labels[i] = 1 - labels[i]
        again = fit_again(machine, np.arange(70), labels, None).predict(NEW)
        assert (again == found.predictions)[found.counts > 1].all()
        again = fit_again(machine, np.delete(np.arange(70), i), TWO, None).predict(NEW)
        assert (again == found.predictions)[removed.counts > 1].all()


@pytest.mark.parametrize(
    ("name", "change", "least"),
    [
        ("svm, narrow", "any", 0.8),
        ("svm, small C", "any", 0.35),
        ("svm", "removed", 0.6),
        ("ridge", "any", 0.75),
        ("ridge, small penalty", "any", 0.55),
    ],
)
def test_how_many_answers_stand_when_one_row_is_wrong(name, change, least):
    found = m.wrong_rows(clone(MACHINES[name]).fit(X, TWO), X, TWO, NEW, change=change)
    assert (found.counts > 1).mean() >= least


@pytest.mark.parametrize("constant", [False, True])
def test_labels_of_a_ridge_machine_are_counted_exactly(constant):
    machine = m.KernelRidgeClassifier(1.0, gamma=0.5, fit_intercept=constant).fit(X, TWO)
    found = m.wrong_rows(machine, X, TWO, NEW, change="relabelled")
    signs = np.where(TWO == 1, 1.0, -1.0)
    # The weights of the labels, one machine for each unit vector.
    units = m.KernelRidge(1.0, kernel=machine.kernel_, fit_intercept=constant).fit(X, np.eye(70))
    for row in range(10):
        parts = units.predict(NEW[row : row + 1])[0] * signs
        value = parts.sum()
        worst = np.argsort(-np.sign(value) * parts)
        for count in (found.counts[row] - 1, found.counts[row]):
            labels = TWO.copy()
            labels[worst[:count]] = 1 - labels[worst[:count]]
            again = fit_again(machine, np.arange(70), labels, None)
            same = again.predict(NEW[row : row + 1])[0] == found.predictions[row]
            assert same == (count < found.counts[row])


def test_one_removed_row_is_exact_for_ridge():
    machine = m.KernelRidgeClassifier(0.3, gamma=0.5).fit(X, TWO)
    found = m.wrong_rows(machine, X, TWO, NEW, change="removed")
    flips = np.zeros(len(NEW), bool)
    for i in range(70):
        rest = np.delete(np.arange(70), i)
        flips |= fit_again(machine, rest, TWO, None).predict(NEW) != found.predictions
    np.testing.assert_array_equal(found.counts == 1, flips)


def test_a_vote_of_ridge_machines():
    machine = m.AutoClassifier().fit(X, TWO)
    generator = np.random.default_rng(3)
    signs = np.where(TWO == 1, 1.0, -1.0)
    for change in ("any", "removed", "relabelled"):
        found = m.wrong_rows(machine, X, TWO, NEW, change=change)
        assert (found.counts > 1).mean() > 0.5
        for row in np.flatnonzero(found.counts > 1)[:12]:
            chosen = generator.permutation(70)[: found.counts[row] - 1]
            removed = chosen if change == "removed" else chosen[:0]
            labels = signs.copy()
            if change != "removed":
                labels[chosen] *= -1
            rest = np.setdiff1d(np.arange(70), removed)
            values = []
            for member in machine.members_:
                coding = machine.codings_[member.coding]
                old, new = (coding.transform(A) * member.weights for A in (X, NEW[row : row + 1]))
                again = clone(member.machine).fit(old[rest], labels[rest])
                values.append(again.predict(new)[0])
            logits = 2 * machine.calibration_ * np.mean(values)
            logits += machine.biases_[1] - machine.biases_[0]
            assert machine.classes_[int(logits > 0)] == found.predictions[row]


def test_strings_pipelines_and_landmarks():
    old, new = WORDS[:80], WORDS[80:]
    y = np.array([word.count("ab") > 1 for word in old]).astype(int)
    machine = m.SVC(C=0.05, kernel=m.Spectrum(2)).fit(old, y)
    assert (m.wrong_rows(machine, old, y, new).counts > 1).any()
    scaled = make_pipeline(StandardScaler(), m.SVC(C=0.1)).fit(X, TWO)
    inside = m.wrong_rows(scaled[-1], scaled[:-1].transform(X), TWO, scaled[:-1].transform(NEW))
    np.testing.assert_array_equal(m.wrong_rows(scaled, X, TWO, NEW).counts, inside.counts)
    rough = m.SVC(C=0.1, approximation=60).fit(X, TWO)
    assert (m.wrong_rows(rough, X, TWO, NEW).counts > 1).mean() > 0.3


def test_rows_without_weight_change_nothing():
    weights = np.where(np.arange(70) < 10, 0.0, 1.0)
    for machine in (m.SVC(C=0.1), m.KernelRidgeClassifier(1.0)):
        machine.set_params(kernel=m.RBF(gamma=0.3))
        whole = m.wrong_rows(machine.fit(X, TWO, sample_weight=weights), X, TWO, NEW, weights)
        part = m.wrong_rows(machine.fit(X[10:], TWO[10:]), X[10:], TWO[10:], NEW)
        np.testing.assert_array_equal(whole.counts, part.counts)


def test_nothing_is_proven_of_an_indefinite_matrix():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = m.SVC(kernel="sigmoid", gamma=5.0, coef0=-2.0).fit(X, TWO)
        found = m.wrong_rows(machine, X, TWO, NEW)
    assert not found.counts.any()
    assert found.sentence(0) == "this answer is too close to call for the data as they are"


def test_words():
    machine = m.KernelRidgeClassifier(1.0).fit(X, TWO)
    found = m.wrong_rows(machine, X, TWO, NEW)
    row = int(found.counts.argmax())
    count = found.counts[row]
    assert found.sentence(row) == (
        f"this answer stands unless at least {count} of the 70 rows are wrong"
    )
    one = m.WrongRows(np.array([1]), np.array([0]), 1_000, "removed")
    assert one.sentence(0).endswith("it is not proven to stand if one is left out")
    two = m.WrongRows(np.array([2]), np.array([0]), 1_000, "relabelled")
    assert two.sentence(0).endswith("at least 2 of the 1,000 rows are relabelled")
    assert "40 answers, 70 training rows" in repr(found)


def test_refusals_say_why():
    machine = m.SVC().fit(X, TWO)
    with pytest.raises(InvalidParameter, match="change='other' has to be one of any, removed"):
        m.wrong_rows(machine, X, TWO, NEW, change="other")
    with pytest.raises(InvalidInput, match="X has 70 rows and y has 69"):
        m.wrong_rows(machine, X, TWO[1:], NEW)
    with pytest.raises(InvalidInput, match="wrong_rows: X has 69 rows, but SVC was fitted on 70"):
        m.wrong_rows(machine, X[1:], TWO[1:], NEW)
    with pytest.raises(InvalidParameter, match="nothing is proven of DecisionTreeClassifier"):
        m.wrong_rows(DecisionTreeClassifier().fit(X, TWO), X, TWO, NEW)
    with pytest.raises(InvalidParameter, match="nothing is proven of NuSVC"):
        m.wrong_rows(m.NuSVC(nu=0.2).fit(X, TWO), X, TWO, NEW)
    with pytest.raises(InvalidParameter, match="3 classes"):
        m.wrong_rows(m.SVC().fit(X, THREE), X, THREE, NEW)
    with pytest.raises(InvalidParameter, match="finite C"):
        m.wrong_rows(m.SVC(C=np.inf, gamma=50.0).fit(X, TWO), X, TWO, NEW)
    K = machine.kernel_(X)
    with pytest.raises(InvalidParameter, match="given matrix"):
        m.wrong_rows(m.SVC(kernel="precomputed").fit(K, TWO), K, TWO, machine.kernel_(NEW, X))
    rough = m.KernelRidgeClassifier(1.0, approximation=20).fit(X, TWO)
    with pytest.raises(InvalidParameter, match="on landmarks a row changes more"):
        m.wrong_rows(rough, X, TWO, NEW)
    ridge = m.KernelRidgeClassifier(1.0).fit(X, TWO)
    with pytest.raises(InvalidInput, match="rows and classes that KernelRidgeClassifier"):
        m.wrong_rows(ridge, X[1:], TWO[1:], NEW)
    vote = m.AutoClassifier().fit(X, TWO)
    with pytest.raises(InvalidInput, match="rows and classes that AutoClassifier"):
        m.wrong_rows(vote, X[1:], TWO[1:], NEW)
    with pytest.raises(InvalidParameter, match="no sample_weight"):
        m.wrong_rows(vote, X, TWO, NEW, WEIGHTS)

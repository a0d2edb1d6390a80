"""A model beside a reference on the same rows, against scikit-learn's measures and plain loops."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from mercer import SVC, describe
from mercer.report import phrases
from mercer.report.paired import FittedReference, Said, compare_scores, weighted
from mercer.report.record import MeasuredScore, Proof, Reference
from mercer.report.view import render
from tests.report import cases

RANDOM = np.random.default_rng(0)
N = 60


def score(name="Accuracy", value=0.8, low=0.7, high=0.9, form="percent", up=True, baseline=0.5):
    return MeasuredScore(name, value, low, high, baseline, form, up, "", "")


def said(classes):
    P = RANDOM.dirichlet(np.ones(classes), size=N)
    return Said(P.argmax(axis=1), P[:, 1] if classes == 2 else P, P)


def by_sklearn(name, actual, answers):
    """The same measure by scikit-learn."""
    if name == "Accuracy":
        return metrics.accuracy_score(actual, answers.predicted)
    if name == "Balanced accuracy":
        return metrics.balanced_accuracy_score(actual, answers.predicted)
    if name == "Log loss":
        return metrics.log_loss(actual, answers.probabilities)
    if name == "AUC":
        return metrics.roc_auc_score(actual, answers.decisions, multi_class="ovr")
    if name == "R²":
        return metrics.r2_score(actual, answers.predicted)
    if name == "Mean absolute error":
        return metrics.mean_absolute_error(actual, answers.predicted)
    return metrics.root_mean_squared_error(actual, answers.predicted)


CLASSES = ["Accuracy", "Balanced accuracy", "Log loss", "AUC"]
NUMBERS = ["R²", "Mean absolute error", "Root mean squared error"]


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("count", [2, 3])
def test_scores_of_classes_with_weights(name, count):
    actual, answers = RANDOM.integers(count, size=N), said(count)
    W = RANDOM.multinomial(N, np.full(N, 1 / N), size=3).astype(float)
    found = weighted(name, actual, answers, W)
    for weights, value in zip(W.astype(int), found, strict=True):
        rows = np.repeat(np.arange(N), weights)
        again = Said(answers.predicted[rows], answers.decisions[rows], answers.probabilities[rows])
        assert value == pytest.approx(by_sklearn(name, actual[rows], again))


@pytest.mark.parametrize("name", NUMBERS)
def test_scores_of_numbers_with_weights(name):
    actual = RANDOM.normal(1e3, 1, size=N)
    answers = Said(actual + RANDOM.normal(size=N))
    W = RANDOM.multinomial(N, np.full(N, 1 / N), size=3).astype(float)
    found = weighted(name, actual, answers, W)
    for weights, value in zip(W.astype(int), found, strict=True):
        rows = np.repeat(np.arange(N), weights)
        assert value == pytest.approx(by_sklearn(name, actual[rows], Said(answers.predicted[rows])))


def test_the_interval_is_that_of_the_difference_and_not_of_two_scores():
    """Two models that err on the same rows differ in one row: a narrow interval says so."""
    actual = RANDOM.integers(2, size=N)
    first = np.where(np.arange(N) % 3 == 0, 1 - actual, actual)
    second = first.copy()
    second[1] = 1 - second[1]
    found = compare_scores(score(), actual, Said(first), Said(second), 0)
    value, difference, low, high = found
    assert value == pytest.approx((second == actual).mean())
    assert difference == pytest.approx(1 / N)
    assert 0 <= low <= difference <= high <= 5 / N


def test_few_rows_have_no_interval():
    actual = np.array([0, 1, 1])
    found = compare_scores(score(), actual, Said(actual), Said(1 - actual), 0)
    assert found[:2] == (0.0, 1.0)
    assert np.isnan(found[2:]).all()


def reference(low, high, name="random forest", value=0.9):
    return Reference(name, value, (low + high) / 2, low, high, 0.1)


PROOF = Proof("C-SVC", "optimal", 1.0, 1.0, 0.0, 1e-8, 0.0, 0.0, 0.0, 0.0, 1, 0.1, 1)


@pytest.mark.parametrize(
    ("references", "trust", "words"),
    [
        ([reference(-0.2, -0.1)], "caution", "Better than guessing, but a random forest does"),
        ([reference(-0.1, 0.1)], "yes", "As good as the usual methods: Accuracy 80.0 % beside"),
        ([reference(0.1, 0.2), reference(-0.1, 0.2)], "yes", "As good as the usual methods"),
        ([reference(0.1, 0.2), reference(0.3, 0.4)], "yes", "Better than the usual methods"),
        ([], "yes", "The model can be trusted"),
    ],
)
def test_the_verdict_says_how_the_model_does_beside_the_usual_methods(references, trust, words):
    found, sentence = phrases.verdict(score(), 100, PROOF, "a coin", references)
    assert found == trust
    assert sentence.startswith(words)
    # What is proven and what is estimated are never in one sentence.
    first, _, last = sentence.rpartition(" The fit is proven")
    assert "proven" not in first
    assert "better" not in last
    assert "%" in first


def test_libraries_have_no_article():
    found = phrases.standing(score(), [reference(-0.2, -0.1, name="CatBoost")])
    assert found.startswith("Better than guessing, but CatBoost does better: ")


def test_where_less_is_better_the_signs_turn():
    error = score("Mean absolute error", 2.0, 1.5, 2.5, "number", False, 5.0)
    worse, better = reference(0.5, 1.0, value=1.2), reference(-1.0, -0.5, value=2.7)
    assert phrases.verdict(error, 100, None, "the mean", [worse])[0] == "caution"
    trust, words = phrases.verdict(error, 100, None, "the mean", [better])
    assert trust == "yes"
    assert words.startswith("Better than the usual methods: Mean absolute error 2 beside")


def test_few_rows_and_useless_models_stay_what_they_are():
    good = [reference(0.1, 0.2)]
    assert phrases.verdict(score(), 10, None, "a coin", good)[0] == "caution"
    assert phrases.verdict(score(low=0.4), 100, None, "a coin", good)[0] == "no"


def test_a_record_holds_references_and_shows_them():
    (X, X_test, y, y_test), columns = cases.heart()
    fitted = LogisticRegression(max_iter=2000).fit(X, y)
    usual = FittedReference("logistic regression", fitted, 0.25)
    model = SVC(gamma=1e-5).fit(X, y)
    record = describe(model, X, y, X_test, y_test, columns=columns, references=[usual])
    (found,) = record.references
    ours, theirs = (m.score(X_test, y_test) for m in (model, fitted))
    assert (found.value, found.difference) == pytest.approx((theirs, ours - theirs))
    assert found.high < 0
    assert record.trust != "yes"
    page = render(record)
    assert "Beside the usual methods" in page
    assert f">{phrases.difference(record.scores[0], found.difference)}<" in page

"""The score that leads a report, and sensitivity and specificity, against scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from mercer import SVC, SVR, InvalidParameter, Study, describe
from mercer.report import phrases
from mercer.report.main_score import are_uneven, leading, positive_code
from mercer.report.record import MeasuredScore
from mercer.study.searching import last_step
from tests.report import cases

(X, X_TEST, Y, Y_TEST), _ = cases.heart()


def uneven(n=300, share=0.1, seed=0):
    """Rows of two classes, one of them rare."""
    random = np.random.default_rng(seed)
    A = random.normal(size=(n, 3))
    signal = A[:, 0] + 0.5 * random.normal(size=n)
    return A, np.where(signal > np.quantile(signal, 1 - share), "ill", "well")


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.5, 0.5], False),
        ([0.19, 0.81], True),
        ([0.21, 0.79], False),
        ([0.1] * 10, False),
        ([0.2, 0.3, 0.5], False),
        ([0.1, 0.4, 0.5], True),
        ([1.0], False),
    ],
)
def test_what_is_uneven(shares, expected):
    assert are_uneven(np.array(shares)) is expected


@pytest.mark.parametrize(
    ("rows", "score", "expected"),
    [
        ((90, 80, 10), None, "balanced_accuracy"),
        ((90, 80, 10), "auc", "balanced_accuracy"),
        ((90, 80, 4), None, None),
        ((90, 80, 4), "auc", None),
        ((90, 80, 4), "balanced_accuracy", "balanced_accuracy"),
        ((90, 4), None, "roc_auc"),
        ((90, 80, 70), None, None),
    ],
)
def test_classes_of_a_row_or_two_do_not_lead_a_search(rows, score, expected):
    y = np.repeat(np.arange(len(rows)), rows)
    assert leading(y, True, score, None) == expected


def test_a_rare_class_is_judged_by_the_auc():
    A, y = uneven()
    model = SVC().fit(A[:150], y[:150])
    record = describe(model, A[:150], y[:150], A[150:], y[150:])
    expected = metrics.roc_auc_score(y[150:] == "well", model.decision_function(A[150:]))
    assert record.scores[0].name == "AUC"
    assert record.scores[0].value == pytest.approx(expected)
    assert record.headline.startswith("AUC")
    even = describe(SVC().fit(X, Y), X, Y, X_TEST, Y_TEST)
    assert even.scores[0].name == "Accuracy"


@pytest.mark.parametrize("score", ["accuracy", "balanced_accuracy", "auc", "log_loss"])
def test_the_score_that_is_asked_for_leads(score):
    model = SVC(probability=True, random_state=0).fit(X, Y)
    record = describe(model, X, Y, X_TEST, Y_TEST, score=score)
    assert record.scores[0].name.lower().replace(" ", "_") == score
    names = [measured.name for measured in record.scores]
    assert len(names) == len(set(names)) == 6


@pytest.mark.parametrize(("score", "name"), [("mae", "Mean abs"), ("rmse", "Root"), ("r2", "R²")])
def test_the_scores_of_numbers(score, name):
    random = np.random.default_rng(0)
    A = random.normal(size=(120, 2))
    y = A[:, 0] + 0.1 * random.normal(size=120)
    record = describe(SVR().fit(A[:80], y[:80]), A[:80], y[:80], A[80:], y[80:], score=score)
    assert record.scores[0].name.startswith(name)
    assert record.trust == "yes"


@pytest.mark.parametrize(("positive", "code"), [("disease", 0), ("healthy", 1), (None, 0)])
def test_sensitivity_and_specificity(positive, code):
    model = SVC().fit(X, Y)
    record = describe(model, X, Y, X_TEST, Y_TEST, positive=positive)
    found = {score.name: score for score in record.scores}
    counts = metrics.confusion_matrix(Y_TEST, model.predict(X_TEST))
    recall = np.diag(counts) / counts.sum(axis=1)
    assert found["Sensitivity"].value == pytest.approx(recall[code])
    assert found["Specificity"].value == pytest.approx(recall[1 - code])
    assert ["disease", "healthy"][code] in found["Sensitivity"].meaning
    assert found["Sensitivity"].low < recall[code] < found["Sensitivity"].high


def test_the_positive_class_is_the_rarer_one():
    classes = np.array(["a", "b"])
    assert positive_code(classes, None, np.array([0.3, 0.7])) == 0
    assert positive_code(classes, None, np.array([0.7, 0.3])) == 1
    assert positive_code(classes, None, np.array([0.5, 0.5])) == 1
    assert positive_code(np.array([0, 1]), "0", np.array([0.5, 0.5])) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "r2"}, "does not judge classes.*balanced_accuracy"),
        ({"score": "best"}, "score='best'"),
        ({"positive": "sick"}, "'disease', 'healthy'"),
    ],
)
def test_what_does_not_suit_is_refused_before_any_work(options, words):
    with pytest.raises(InvalidParameter, match=words):
        Study.fit("heart", **options)
    with pytest.raises(InvalidParameter, match=words):
        describe(SVC().fit(X, Y), X, Y, X_TEST, Y_TEST, **options)


def test_numbers_have_no_positive_class():
    with pytest.raises(InvalidParameter, match="score='auc' does not judge a number"):
        Study.fit("diabetes", score="auc")
    with pytest.raises(InvalidParameter, match="positive='ill' is for classes"):
        Study.fit("diabetes", positive="ill")


def test_a_class_that_is_never_answered_is_named():
    A, y = uneven(share=0.06)
    model = SVC(C=0.01).fit(A[:150], y[:150])
    assert set(model.predict(A[150:])) == {"well"}
    record = describe(model, A[:150], y[:150], A[150:], y[150:])
    assert record.scores[0].low > 0.5
    assert record.trust == "caution"
    assert "never answers “ill”" in record.verdict


@pytest.mark.parametrize("machine", ["svc", "auto"])
def test_the_score_leads_the_search(machine, tmp_path):
    A, y = uneven()
    lines = [",".join([*map(str, row), label]) for row, label in zip(A.round(3), y, strict=True)]
    (tmp_path / "rare.csv").write_text("\n".join(["a,b,c,y", *lines]))
    study = Study.fit(tmp_path / "rare.csv", "y", machine=machine, cv=3)
    assert study.scores[0].name == "AUC"
    if machine == "svc":
        assert study.record.search.scoring == "roc auc"
    else:
        assert study.record.vote.scoring == "AUC"
    assert last_step(study.model).class_weight == "balanced"
    assert study.certify(tmp_path / "rare.csv").relative_gap < 0.01
    assert any("rare classes cost more" in note for note in study.notes)
    other = Study.fit(
        tmp_path / "rare.csv", "y", machine=machine, cv=3, score="balanced_accuracy",
        positive="well",
    )  # fmt: skip
    assert other.scores[0].name == "Balanced accuracy"
    if machine == "svc":
        assert other.search.best_score_ < study.search.best_score_
    else:  # a contest ranks rows, whatever the threshold
        assert other.search.best_score_ == study.search.best_score_
    plain = Study.fit(tmp_path / "rare.csv", "y", machine=machine, cv=3, score="accuracy")
    assert last_step(plain.model).class_weight is None


def test_probabilities_that_say_less_than_shares_are_named():
    worse = MeasuredScore("Log loss", 0.3, 0.2, 0.4, 0.25, "share", False, "", "")
    assert "no better than" in phrases.on_probabilities([worse])[0]
    assert phrases.on_probabilities([replace(worse, value=0.2)]) == []
    assert phrases.on_probabilities([]) == []

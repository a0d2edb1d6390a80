"""A study: an honest split, a search that never sees the test, a judgement that can be repeated."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest

import mercer
from mercer import RBF, InvalidInput, InvalidParameter, Study
from mercer.data import table_path
from mercer.study import machines
from mercer.study.comparison import compare
from mercer.study.plan import make_plan, with_open_widths
from mercer.study.searching import last_step
from mercer.study.split_rows import split


@pytest.fixture(scope="module")
def heart():
    return Study.fit("heart")


def lines_of(name):
    header, *lines = table_path(name).read_text().splitlines()
    return header, lines


# ---- three lines for programmers ---------------------------------------------------------------


def test_three_lines(heart, tmp_path):
    heart.save(tmp_path / "heart.mercer")
    page = heart.write_report(tmp_path / "heart.html")
    assert "<title>heart" in page.read_text(encoding="utf-8")
    again = Study.load(tmp_path / "heart.mercer")
    for name in (
        "source",
        "kernel",
        "machine",
        "why",
        "reasons",
        "notes",
        "random_state",
        "rows",
        "task",
    ):
        assert getattr(again, name) == getattr(heart, name)
    assert again.search is None
    assert again.parameters == heart.parameters
    assert again.schema == heart.schema
    assert again.record.to_dict().keys() == heart.record.to_dict().keys()
    assert np.array_equal(again.predict("heart"), heart.predict("heart"))
    assert again.certificate == heart.certificate
    assert repr(again) == repr(heart)


def test_scores_are_those_of_the_written_model_on_rows_that_it_never_saw(heart):
    table = mercer.read_table("heart")
    test = np.setdiff1d(np.arange(270), heart.train_rows)
    right = heart.predict("heart")[test] == table.target[test]
    score = heart.scores[0]
    assert score.value == right.mean()
    ends = binomtest(int(right.sum()), len(test)).proportion_ci(method="wilson")
    assert (score.low, score.high) == pytest.approx(tuple(ends))
    labels, counts = np.unique(table.target[heart.train_rows], return_counts=True)
    assert score.baseline == (table.target[test] == labels[counts.argmax()]).mean()


def test_new_rows_may_come_from_a_frame_or_a_table(heart):
    table = mercer.read_table("heart")
    expected = heart.predict("heart")
    assert np.array_equal(heart.predict(table), expected)
    assert np.array_equal(heart.predict(table.frame), expected)
    assert np.array_equal(heart.predict(table.frame.to_pandas()), expected)
    assert heart.answers(table.frame.to_pandas()).columns == heart.answers("heart").columns


def test_the_fit_can_be_certified_again(heart):
    assert heart.certify("heart").relative_gap == pytest.approx(heart.certificate.relative_gap)
    assert heart.certify(mercer.read_table("heart")).gap == pytest.approx(heart.certificate.gap)


def test_probabilities_come_with_the_model(heart):
    other = Study.fit("heart", machine="svc")
    assert last_step(other.model).probability is True
    for study in (heart, other):
        P = study.answers("heart").columns
        total = np.add(P["probability_disease"], P["probability_healthy"])
        assert total == pytest.approx(1.0)


# ---- honesty -----------------------------------------------------------------------------------


def coefficients_of(machine):
    members = getattr(machine, "members_", None)
    return [machine.dual_coef_] if members is None else [m.machine.dual_coef_ for m in members]


@pytest.mark.parametrize("machine", [None, "svr"])
def test_tuning_never_sees_the_test_rows(machine, tmp_path):
    """Whatever stands in the test rows, the search and the model are the same."""
    header, lines = lines_of("diabetes")
    plan = make_plan("diabetes")
    spoiled = list(lines)
    for row in plan.test:
        *cells, answer = lines[row].split(",")
        spoiled[row] = ",".join([*(repr(1000.0 - 3 * float(cell)) for cell in cells), answer])
    (tmp_path / "spoiled.csv").write_text("\n".join([header, *spoiled]))
    first = Study.fit("diabetes", machine=machine)
    second = Study.fit(tmp_path / "spoiled.csv", "target", machine=machine)
    assert np.array_equal(first.train_rows, second.train_rows)
    scores = [study.search.cv_results_["mean_test_score"] for study in (first, second)]
    assert np.array_equal(*scores, equal_nan=True)
    one, other = (coefficients_of(last_step(study.model)) for study in (first, second))
    assert len(one) == len(other)
    assert all(map(np.array_equal, one, other))
    assert first.scores[0].value != second.scores[0].value


def test_missing_values_are_filled_by_what_training_rows_say(tmp_path):
    header, lines = lines_of("diabetes")
    rows = [line.split(",") for line in lines]
    for row in rows[::5]:
        row[0] = ""
    (tmp_path / "holes.csv").write_text("\n".join([header, *map(",".join, rows)]))
    plan = make_plan(tmp_path / "holes.csv", "target")
    ages = [float(rows[i][0]) for i in plan.train if rows[i][0]]
    fill = plan.prepared.schema.columns[0].fill
    assert fill == np.median(ages)
    filled = plan.prepared.X["age"].to_numpy()
    assert np.all(filled[::5] == fill)


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    share=st.floats(0.05, 0.6),
    seed=st.integers(0, 1000),
)
def test_the_split_is_fair(counts, share, seed):
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    train, test = split(y, True, share, seed)
    assert sorted([*train, *test]) == list(range(len(y)))
    assert len(test) >= 1
    assert np.array_equal(split(y, True, share, seed)[0], train)
    for label, count in enumerate(counts):
        part = int((y[test] == label).sum())
        assert part < count or sum(counts) - count >= 1
        assert abs(part - share * count) <= 1 or len(test) == 1
    assert np.array_equal(train, np.sort(train))


@settings(max_examples=30)
@given(n=st.integers(8, 200), share=st.floats(0.05, 0.9), seed=st.integers(0, 100))
def test_the_split_of_numbers(n, share, seed):
    train, test = split(np.arange(float(n)), False, share, seed)
    assert sorted([*train, *test]) == list(range(n))
    assert len(train) >= 2
    assert len(test) >= 1


# ---- decisions ---------------------------------------------------------------------------------


def many_rows(n, path, category=False):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)).round(3)
    columns = {f"x{j}": X[:, j] for j in range(3)}
    if category:
        columns["kind"] = np.where(X[:, 0] > 0, "up", "down")
    y = np.where(X[:, 0] + 0.5 * random.normal(size=n) > 0, "yes", "no")
    pyarrow.parquet.write_table(pa.table({**columns, "y": y}), path)
    return path


def test_many_rows_of_numbers_get_a_linear_machine(tmp_path):
    study = Study.fit(many_rows(201_000, tmp_path / "many.parquet"))
    assert study.machine == "linear"
    assert "201,000 rows" in study.why
    assert any("Tuned on 5,000" in note for note in study.notes)
    assert len(study.train_rows) == 150_750
    assert study.scores[0].low > 0.8


def test_many_rows_with_categories_keep_their_kernel(tmp_path):
    plan = make_plan(many_rows(21_000, tmp_path / "many.parquet", category=True))
    assert plan.machine.name == "auto"
    plan = make_plan(many_rows(21_000, tmp_path / "many.parquet"), kernel="rbf(x0)")
    assert plan.machine.name == "svc"


def test_tables_of_numbers_and_categories_go_to_the_contest():
    for name in ("heart", "penguins", "diabetes", "splice", "promoters"):
        plan = make_plan(name)
        assert plan.machine.name == "auto"
        assert plan.kernel is None
        assert "from a table" in plan.why
        assert "the best few vote" in plan.reasons[-1 - len(plan.identifiers)]
    for name, machine in (("reviews", "svc"), ("gunpoint", "svc"), ("solubility", "svr")):
        assert make_plan(name).machine.name == machine
    assert make_plan("diabetes", kernel="rbf(bmi)").machine.name == "svr"
    with pytest.raises(InvalidParameter, match=r"takes numbers and categories only.*'text'"):
        make_plan("reviews", machine="auto")
    with pytest.raises(InvalidParameter, match="chooses its kernels itself"):
        make_plan("heart", machine="auto", kernel="rbf(age)")
    with pytest.raises(InvalidParameter, match="does not take the sparse columns"):
        make_plan(table_path("heart").with_name("heart_scale.txt"), machine="auto")


def test_the_contest_is_in_the_record(heart, tmp_path):
    vote = heart.record.vote
    assert heart.machine == "auto"
    assert len(vote.members) == len(heart.model.members_) == heart.parameters["members"]
    assert [line.score for line in vote.lines] == sorted(
        (line.score for line in vote.lines), reverse=True
    )
    assert vote.rows == 202
    assert {column.name for column in vote.columns} == set(heart.schema.names)
    assert vote.columns[0].factor == 1.0
    assert heart.record.search is None
    again = Study.load(heart.save(tmp_path / "heart.mercer"))
    assert again.record.vote.lines[0].kernel == vote.lines[0].kernel
    page = again.write_report(tmp_path / "heart.html").read_text(encoding="utf-8")
    assert 'id="contest"' in page
    assert "What the columns are worth" in page
    # What is proven and what is estimated are never in one sentence.
    for sentence in heart.record.verdict.split(". "):
        assert not ("proven" in sentence and "estimate" in sentence)


def test_rows_that_are_near_add_up_to_the_decision_of_the_vote(heart):
    near = heart.record.neighbours
    whole = near.contribution.sum(axis=1) + near.rest + near.bias
    np.testing.assert_allclose(whole, near.decision)
    P = heart.answers("heart").columns
    odds = np.log(np.divide(P["probability_healthy"], P["probability_disease"]))
    for name, decision in zip(near.rows, near.decision, strict=True):
        assert decision == pytest.approx(abs(odds[int(name) - 1]), abs=1e-9)


def test_shares_of_columns_in_the_answers_of_the_vote(heart):
    rows = mercer.read_table("heart").take(np.arange(6))
    why = heart.explain(rows)
    assert why.names == heart.schema.names
    odds = heart.model.decision_function(heart.schema.align(rows))
    np.testing.assert_allclose(why.answers, odds, atol=1e-8)
    shares = heart.shares(rows).columns
    assert shares["share_thal"] == pytest.approx(why.values[:, why.names.index("thal")])


def test_positions_of_sequences_are_learnt():
    rows = np.random.default_rng(0).permutation(3190)[:500]
    study = Study.fit(mercer.read_table("splice").take(rows))
    assert study.scores[0].value > 0.9
    assert any("a category for each place" in reason for reason in study.reasons)
    # The two letters before and after the border are nearly all.
    strongest = {column.name for column in study.record.vote.columns[:4]}
    assert strongest <= {f"dna[{place}]" for place in range(27, 36)}


def test_a_rare_class_is_answered(tmp_path):
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 3))
    y = np.where(X[:, 0] + 0.7 * random.normal(size=400) > 1.9, "rare", "usual")
    lines = [",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, y, strict=True)]
    (tmp_path / "rare.csv").write_text("\n".join(["a,b,c,kind", *lines]))
    study = Study.fit(tmp_path / "rare.csv", "kind")
    assert study.scores[0].name == "AUC"
    assert any("Errors on rare classes cost more" in note for note in study.notes)
    # A row is called rare where that is more probable than among all training rows.
    told = study.answers(tmp_path / "rare.csv").columns
    share = (y[study.train_rows] == "rare").mean()
    assert np.array_equal(
        np.array(told["prediction"]) == "rare", np.array(told["probability_rare"]) > share
    )
    rare = y == "rare"
    by_half = np.array(told["probability_rare"])[rare] > 0.5
    assert (np.array(told["prediction"])[rare] == "rare").sum() > by_half.sum()


@pytest.mark.parametrize(
    ("score", "scoring"), [("log_loss", "log_loss"), ("auc", "auc"), ("accuracy", "auc")]
)
def test_the_score_leads_the_contest(score, scoring):
    study = Study.fit("penguins", score=score)
    assert last_step(study.model).scoring == scoring
    assert 0.9 < abs(study.search.best_score_) <= 1 or score == "log_loss"


@pytest.mark.filterwarnings("ignore:.*ended at its bound", "ignore:lbfgs failed to converge")
def test_every_machine_can_be_asked_for(tmp_path):
    header, lines = lines_of("diabetes")
    (tmp_path / "some.csv").write_text("\n".join([header, *lines[:80]]))
    for row in machines.MACHINES:
        target = "sex" if row.task == "classes" else "target"
        study = Study.fit(tmp_path / "some.csv", target, machine=row.name, cv=3)
        assert study.machine == row.name
        if row.row.unproven:
            assert study.certificate is None
            assert study.record.proof is None
            assert any(row.row.unproven in note for note in study.notes)
        else:
            assert study.certificate.relative_gap < 0.01
            assert study.record.proof is not None


@pytest.mark.filterwarnings("ignore:.*ended at its bound")
@pytest.mark.parametrize("name", ["kernelridge", "gp"])
def test_regressions_that_use_every_row(name, tmp_path):
    header, lines = lines_of("diabetes")
    (tmp_path / "some.csv").write_text("\n".join([header, *lines[:160]]))
    study = Study.fit(tmp_path / "some.csv", "target", machine=name, cv=3)
    assert study.scores[0].value > 0.25
    assert study.record.support is None
    assert study.record.neighbours is not None
    assert study.certify(tmp_path / "some.csv").relative_gap < 1e-6
    near = study.record.neighbours
    whole = near.contribution.sum(axis=1) + near.rest + near.bias
    np.testing.assert_allclose(whole, near.decision, rtol=1e-6)
    again = Study.load(study.save(tmp_path / "model.mercer"))
    np.testing.assert_array_equal(
        again.predict(tmp_path / "some.csv"), study.predict(tmp_path / "some.csv")
    )
    page = study.write_report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "support vector" not in page.lower()
    # A process learns everything by itself.
    assert len(study.parameters) == (0 if name == "gp" else 2)


def test_a_gaussian_process_has_a_limit(tmp_path):
    source = tmp_path / "long.csv"
    source.write_text("a,y\n" + "\n".join(f"{i % 97},{i / 7}" for i in range(2600)))
    with pytest.raises(InvalidParameter, match=r"2,600 rows.*Choose another"):
        make_plan(source, "y", machine="gp")


def test_widths_that_are_open_are_told_from_those_that_are_given():
    kernel = mercer.parse_kernel("rbf(a) + 2 * laplacian(b, gamma=0.5) * matern(c, sigma=scale)")
    assert mercer.format_kernel(with_open_widths(kernel)) == (
        'rbf(a, gamma="median") + 2 * laplacian(b, gamma=0.5) * matern(c, sigma="scale")'
    )
    assert with_open_widths(RBF(gamma=0.3)) == RBF(gamma=0.3)


def test_a_kernel_object_will_do():
    study = Study.fit("diabetes", kernel=RBF(gamma=0.01).on("bmi", "glucose"))
    assert study.kernel == "rbf(bmi, glucose, gamma=0.01)"
    assert study.parameters.keys() == {"C"}


def test_few_rows_are_said_to_be_few(tmp_path):
    header, lines = lines_of("penguins")
    (tmp_path / "few.csv").write_text("\n".join([header, *lines[::12]]))
    study = Study.fit(tmp_path / "few.csv", "species")
    assert any("rows are left for the test" in note for note in study.notes)
    assert study.record.trust == "caution"


def test_a_rare_class(tmp_path):
    header, lines = lines_of("penguins")
    adelie = [line for line in lines if "Adelie" in line][:30]
    gentoo = [line for line in lines if "Gentoo" in line][:2]
    (tmp_path / "rare.csv").write_text("\n".join([header, *adelie, *gentoo]))
    study = Study.fit(tmp_path / "rare.csv", "species")
    assert any("'Gentoo' has only 2 rows" in note for note in study.notes)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"test_share": -0.1}, InvalidParameter),
        ({"cv": 2.5}, InvalidParameter),
        ({"random_state": -1}, InvalidParameter),
        ({"machine": "forest"}, InvalidParameter),
        ({"kernel": "rbf("}, InvalidParameter),
        ({"target": "nope"}, InvalidInput),
        ({"time_limit": 0}, InvalidParameter),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(error):
        Study.fit("heart", **options)


@pytest.mark.parametrize("function", [Study.fit, compare])
def test_the_old_name_of_random_state(function):
    with (
        pytest.warns(FutureWarning, match="'seed' is now called 'random_state'"),
        pytest.raises(InvalidParameter, match="random_state=-1"),
    ):
        function("heart", seed=-1)


def test_the_old_name_of_an_attribute(heart):
    with pytest.warns(FutureWarning, match="'seed' is now called 'random_state'"):
        assert heart.seed == heart.random_state == 0


def test_a_table_without_a_target():
    with pytest.raises(InvalidInput, match="no target"):
        Study.fit(mercer.read_table("heart", target=False))


@pytest.mark.parametrize(("machine", "seconds"), [(None, 1e-4), ("svc", 1e-4), (None, 0.2)])
def test_a_time_limit_warns_and_keeps_the_best(machine, seconds):
    with pytest.warns(UserWarning, match="time limit"):
        study = Study.fit("heart", machine=machine, time_limit=seconds)
    assert study.stopped == "time limit"
    assert study.search.cv_results_["skipped"].any()


def test_progress_is_told():
    seen = []
    for kernel in ("linear(bmi)", None):
        Study.fit("diabetes", kernel=kernel, callback=lambda *told: seen.append(told))
        done, total, best = seen[-1]
        assert 0 < done <= total
        assert 0 < best < 1


# ---- comparisons -------------------------------------------------------------------------------


def test_compare_predicts_each_row_once_without_it():
    """A kernel that tells all rows apart and nothing else can only answer as the baseline does."""
    kernels = ["delta(bill_length_mm) * delta(body_mass_g)", "rbf(body_mass_g)"]
    found = compare("penguins", kernels=kernels, machines=["svc"], cv=3)
    assert [c.machine for c in found.contenders].count("svc") == 2
    by_kernel = {c.label.split("(")[0]: c.score.value for c in found.contenders}
    assert by_kernel["rbf"] > by_kernel["delta"] + 0.1
    assert "3 folds" in repr(found)

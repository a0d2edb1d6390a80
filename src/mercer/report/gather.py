"""Make the record of a fitted model: everything that a report shows is computed here."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, get_type_hints

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._deprecated import renamed
from mercer._typing import Model, Objects, Targets
from mercer.estimators.base import take_objects
from mercer.exceptions import InvalidInput
from mercer.kernels.encoders import row_count
from mercer.problems.certificate import Certificate
from mercer.report import explain, leaderboard, phrases, pictures, shares, surface, table, text
from mercer.report.anatomy import Anatomy
from mercer.report.inside import insides
from mercer.report.paired import FittedReference, measure, said_by
from mercer.report.predicted import OutOfFold, Predicted, predict
from mercer.report.record import VERSION, Fact, MeasuredScore, Proof, Record, Reference
from mercer.report.sampling import sample
from mercer.report.vote_anatomy import anatomy_of

POINTS = 40
"""Test rows that a report explains one by one."""
TRAIN_ROWS = 2000
"""Training rows that the score on them is estimated from."""


@renamed(seed="random_state")
def describe(
    model: Model,
    X_train: Objects,
    y_train: Targets,
    X_test: Objects,
    y_test: Targets,
    *,
    search: Model = None,
    name: str = "",
    target: str = "",
    columns: Sequence[Any] | None = None,
    task: str | None = None,
    baseline: Model = None,
    kernel_reasons: Sequence[str] = (),
    seconds: float | None = None,
    random_state: int | None = None,
    notes: Sequence[str] = (),
    train_rows: Sequence[Any] | None = None,
    test_rows: Sequence[Any] | None = None,
    references: Sequence[FittedReference] = (),
    suspicions: Sequence[str] = (),
    score: str | None = None,
    positive: Any = None,
    left_out: OutOfFold | None = None,
    effort: float = 1.0,
) -> Record:
    """Gather what a report shows about a fitted model.

    Parameters
    ----------
    model : estimator
        A fitted machine of mercer, or a pipeline that ends in one.
    X_train, y_train, X_test, y_test
        What it was fitted on, and rows that it never saw; ``None`` for answers that are not known.
    search : fitted search, optional
        With ``cv_results_`` in scikit-learn's format; ``dropped`` and ``bound`` are shown if there.
        By default that of the machine itself, where it found its parameters ``"auto"``.
    name, target : str
        The names of the data and of the target.
    columns : sequence of str, optional
        The names of the columns; those of a frame by default.
    task : str, optional
        The kind of the task in words; found from the model by default.
    baseline : estimator, optional
        A fitted model to compare with; by default the most frequent class or the mean of training.
    kernel_reasons, notes : sequences of str
        Why this kernel, and anything else that the reader should know.
    seconds : float, optional
        The time that everything took.
    random_state : int, optional
        The seed of the run; samples and resamples of the report use it too.
    train_rows, test_rows : sequences, optional
        What rows are called; their index in a pandas frame or 1, 2, 3 … by default.
    references : sequence of FittedReference
        Usual methods that were fitted to the same training rows; they are asked about the same test
        rows, and the verdict says how the model does beside them.
    suspicions : sequence of str
        What makes a good score doubtful, such as a column that gives the answer away. With one of
        them the model is not called trustworthy.
    score : {"accuracy", "balanced_accuracy", "auc", "log_loss", "r2", "mae", "rmse"}, optional
        What judges the model; by default R² or accuracy, and the AUC where a class is rare (below
        20 % of two classes).
    positive : label, optional
        The one of two classes that sensitivity and specificity are about; the rarer by default.
    left_out : OutOfFold, optional
        Where the test rows are the training rows: answers of models that were fitted without them.
    effort : float
        The part of the usual work, some seconds, that explanations may take; 0 leaves them away.

    Returns
    -------
    Record
        Plain data; :func:`write_report` makes a page of it.

    Examples
    --------
    >>> from mercer import SVC, describe, load_data
    >>> heart = load_data("heart")
    >>> X, y = heart.X, heart.y
    >>> machine = SVC(C=10.0).fit(X[:200], y[:200])
    >>> record = describe(machine, X[:200], y[:200], X[200:], y[200:], name="heart")
    >>> record.machine, record.task
    ('SVC', '2 classes: disease, healthy')
    """
    anatomy = anatomy_of(model, X_train)
    check_is_fitted(anatomy.machine)
    _check_rows("X_train", X_train, y_train)
    _check_rows("X_test", X_test, y_test)
    draw = 0 if random_state is None else int(random_state) % 2**32
    answers = predict(
        anatomy, y_train, X_test, y_test, baseline, draw, score=score, positive=positive,
        left_out=left_out,
    )  # fmt: skip
    main = answers.scores[0] if answers.scores else None
    proof = _proof(anatomy.machine)
    rows = row_count(X_test)
    folds = 0 if left_out is None else left_out.folds
    beside = _beside(anatomy, answers, X_test, main, references, draw)
    if anatomy.one_class and main is not None and main.name == "Accepted":
        trust, verdict = phrases.acceptance_verdict(main, rows)
    else:
        fits = len(getattr(anatomy.machine, "members_", ())) or 1
        trust, verdict = phrases.verdict(main, rows, proof, answers.baseline, beside, fits)
    doubts = [text.clean(suspicion, 600) for suspicion in suspicions]
    doubts += phrases.never_answered(main, answers.names, answers.actual, answers.predicted)
    trust, verdict = phrases.doubted(trust, verdict, doubts)
    train_score = _train_score(anatomy, X_train, y_train, main, draw)
    names = table.column_names(X_train, columns)
    shown = sample(answers.test_groups, POINTS, draw, always=answers.wrong)
    called = (names, train_rows, test_rows)
    near = explain.neighbours(anatomy, X_train, X_test, shown, called, answers)
    some = sample(answers.test_groups, explain.PART_ROWS, draw)
    summands = explain.parts(anatomy, X_test, some)
    by_column = [] if summands else explain.column_parts(anatomy, X_test, some, names)
    return Record(
        version=VERSION,
        title=text.clean(name, 80) or "Model report",
        machine=anatomy.name,
        kernel="" if anatomy.kernel is None else text.formula(anatomy.kernel),
        task=text.clean(task or answers.task, 80),
        target=text.clean(target, 80),
        headline=phrases.headline(main, rows, folds),
        trust=trust,
        verdict=verdict,
        remarks=[
            *phrases.remarks(main, train_score, rows),
            *phrases.on_probabilities(answers.scores),
            *(text.clean(n, 600) for n in notes),
        ],
        facts=_facts(anatomy, task or answers.task, 0 if folds else rows, names, target, seconds),
        kernel_reasons=[text.clean(reason, 600) for reason in kernel_reasons],
        baseline=answers.baseline,
        train_score=train_score,
        scores=answers.scores,
        confusion=answers.confusion,
        residuals=answers.residuals(X_test, test_rows, draw),
        calibration=answers.calibration,
        search=surface.surface(search or getattr(anatomy.machine, "search_", None)),
        proof=proof,
        support=explain.support(anatomy, answers.train_codes, answers.names),
        parts=summands or by_column,
        parts_are_columns=bool(by_column),
        neighbours=near,
        gram=None if anatomy.kernel is None else pictures.gram_picture(anatomy, answers, draw),
        map=None
        if near is None
        else pictures.kernel_map(
            anatomy, answers, X_train, X_test, shown, train_rows, near.rows, draw
        ),
        reproduction=_reproduction(anatomy, random_state),
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        references=beside,
        suspicions=doubts,
        folds=folds,
        curves=answers.curves,
        vote=leaderboard.vote_of(anatomy.machine),
        shares=shares.shares(
            anatomy, answers, (X_train, y_train), X_test, (shown, some), names, test_rows, effort
        ),
        insides=insides(anatomy, answers, X_test, shown, test_rows) if effort else [],
    )


def _check_rows(name: str, X: Objects, y: Targets) -> None:
    count = row_count(X)
    if count == 0:
        raise InvalidInput(f"describe: {name} has no rows; a report needs at least one.")
    if y is not None and len(y) != count:
        raise InvalidInput(
            f"describe: {name} has {count:,} rows and its answers number {len(y):,}. Pass the "
            "answers of these rows."
        )


def _beside(
    anatomy: Anatomy, answers: Predicted, X: Objects, main: MeasuredScore | None,
    references: Sequence[FittedReference], seed: int,
) -> list[Reference]:  # fmt: skip
    """Return how references do on the test rows, the best one first."""
    if main is None or answers.said is None:
        return []
    found = [
        measure(
            reference, main, answers.actual, answers.said,
            said_by(reference.model, X, anatomy.classes), seed,
        )
        for reference in references
    ]  # fmt: skip
    return sorted(found, key=lambda r: r.value, reverse=main.higher_is_better)


def _train_score(anatomy: Anatomy, X: Objects, y: Targets, main: Any, seed: int) -> float | None:
    """Return the main score on (a sample of) the training rows."""
    if main is None or y is None or main.name not in ("Accuracy", "R²"):
        return None
    rows = sample(np.zeros(anatomy.rows, dtype=np.intp), TRAIN_ROWS, seed)
    part = X[rows][:, :] if anatomy.precomputed else take_objects(X, rows)
    return float(anatomy.model.score(part, np.asarray(y)[rows]))


def _proof(machine: Model) -> Proof | None:
    certificate = getattr(machine, "certificate_", None)
    if certificate is None and getattr(machine, "certificates_", None):
        certificate = Certificate.total(machine.certificates_)
    if certificate is None:
        return None
    return Proof(
        **{name: kind(getattr(certificate, name)) for name, kind in get_type_hints(Proof).items()}
    )


def _facts(
    anatomy: Anatomy,
    task: str,
    test_rows: int,
    columns: list[str],
    target: str,
    seconds: float | None,
) -> list[Fact]:
    width = "a kernel matrix" if anatomy.precomputed else text.counted(len(columns), "column")
    tested = f"{test_rows:,} test rows" if test_rows else "each left out once"
    facts = [
        Fact("Task", text.clean(task)),
        Fact("Data", f"{anatomy.rows:,} training rows, {tested}, {width}"),
        Fact("Machine", anatomy.name),
    ]
    if target:
        facts.insert(1, Fact("Target", text.clean(target)))
    if anatomy.kernel is not None:
        facts.append(Fact("Kernel", text.formula(anatomy.kernel)))
    for parameter in ("C", "nu", "epsilon", *anatomy.costs):
        value = anatomy.parameter(parameter)
        if isinstance(value, int | float | np.number):
            symbol = {"nu": "ν", "epsilon": "ε", "alpha": "λ"}.get(parameter, parameter)
            facts.append(Fact(symbol, text.number(float(value))))
    if seconds is not None:
        facts.append(Fact("Time", f"{text.number(float(seconds), 3)} s"))
    return facts


def _reproduction(anatomy: Anatomy, random_state: int | None) -> list[Fact]:
    versions = [
        f"{package} {metadata.version(package)}"
        for package in ("mercer", "numpy", "scipy", "scikit-learn", "numba")
    ]
    with np.printoptions(legacy="1.25"):  # 10.0, not np.float64(10.0)
        model = " ".join(repr(anatomy.model).split())
    return [
        Fact("Model", text.clean(model, 2000)),
        Fact("Seed", "none given" if random_state is None else str(int(random_state))),
        Fact("Versions", ", ".join([*versions, f"Python {platform.python_version()}"])),
        Fact("System", text.clean(f"{platform.system()} on {platform.machine()}")),
    ]

"""A study: a model with all that was decided, tried and found out on the way to it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mercer._deprecated import renamed
from mercer._notebook import table_in_html
from mercer._typing import Array, DataSource, Frame, IntArray, Model, Objects, Parameter, Targets
from mercer.estimators import registry
from mercer.estimators.certify import certify
from mercer.exceptions import InvalidInput
from mercer.explanations.explanation import Explanation
from mercer.explanations.shapley import explain
from mercer.explanations.within import explain_within
from mercer.io.models import load, load_record, save
from mercer.io.table_schema import Schema
from mercer.io.tables import is_data_frame, read_table
from mercer.problems.certificate import Certificate
from mercer.report.phrases import interval, value
from mercer.report.proof.statements import CarriedProof, carried_proof
from mercer.report.record import MeasuredScore, Record
from mercer.report.view import write_report
from mercer.study import saved
from mercer.study.copies import keep_copies_together
from mercer.study.nonconformity import reach
from mercer.study.plan import Plan, make_plan, with_short_indices
from mercer.study.predictions import PredictionTable, answers_of, places_of, shares_of
from mercer.study.procedure import carry_out
from mercer.study.remarks import remarks_of
from mercer.study.searching import last_step
from mercer.study.watching import Watch


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """A tuned and judged model, from one file: ``Study.fit("heart.csv", target="diagnosis")``.

    The model learns from a part of the rows; tuning happens inside that part. The other rows, the
    test part, are only used to judge the model that is kept.

    Attributes
    ----------
    model : estimator
        An automatic machine, or a pipeline that scales numbers and ends in the machine.
    schema : Schema
        What new data have to look like.
    source, kernel, machine, why : str
        The data; the kernel as text; the machine's name and why it was chosen.
    reasons : tuple of str
        Why this kernel.
    parameters : dict
        What the search chose.
    notes : tuple of str
        What was noticed on the way.
    stopped : str
        Why the search ended early: ``"interrupted"``, ``"time limit"``, or nothing.
    rows, train_rows, identifiers
        How many rows there were, those that the model learnt from, and the columns that only tell
        rows apart.
    random_state, seconds
        What makes the run repeatable, and how long it took.
    record : Record
        Everything that the report shows, with scores, intervals and the verdict.
    search : fitted search or None
        All that was tried; not kept in files.
    nonconformity : array
        How unlikely the truth was to the model at each test row, in order: what the intervals and
        sets of :meth:`answers` rest on.

    Examples
    --------
    >>> from mercer import Study
    >>> study = Study.fit("diabetes", machine="ridge")
    >>> study.target, study.scores[0].name, study.certificate.optimal
    ('target', 'R²', True)
    """

    model: Any
    schema: Schema
    source: str
    kernel: str
    reasons: tuple[str, ...]
    machine: str
    why: str
    parameters: Mapping[str, Any]
    notes: tuple[str, ...]
    stopped: str
    rows: int
    train_rows: IntArray
    identifiers: tuple[str, ...]
    random_state: int
    seconds: float
    record: Record
    search: Any = field(default=None)
    nonconformity: Array = field(default_factory=lambda: np.empty(0))

    @classmethod
    @renamed(seed="random_state")
    def fit(
        cls,
        source: DataSource,
        target: str | int | None = None,
        *,
        kernel: Parameter = None,
        machine: str | None = None,
        task: str | None = None,
        test_share: float = 0.25,
        cv: int = 5,
        time_limit: float | None = None,
        random_state: int = 0,
        callback: Watch | None = None,
        score: str | None = None,
        positive: Parameter = None,
        order_by: str | None = None,
        group: str | None = None,
        cost: Mapping[Any, float] | None = None,
    ) -> Study:
        """Read, decide, tune, fit and judge.

        Parameters
        ----------
        source : path, str, data frame or Table
            A file, the name of a data set that comes with mercer, a frame of pandas, polars or
            pyarrow, or a table from :func:`read_table`.
        target : str or int, optional
            The column to predict.
        kernel : str or Kernel, optional
            For example ``"rbf(age, bmi) + delta(sex)"``; one for the columns is proposed otherwise.
        machine : {"auto", "svc", "nusvc", "klr", "logistic", "svr", "nusvr", "kernelridge", "gp", \
"linear"}, optional
            By default ``"auto"``, a contest of kernel machines, for numbers and categories; a
            support vector machine for other columns, and where a kernel is given.
        task : {"classes", "number"}, optional
            What the target is, where you know better.
        test_share : float
            The share of the rows that is kept aside to judge the model. With 0 it learns from all
            rows, and the whole procedure is judged by cross-validation, which takes ``cv`` times
            as long.
        cv : int
            The number of folds of the search.
        time_limit : float, optional
            Seconds after which the best machine so far is taken; Ctrl-C does the same.
        random_state : int
            Rows of the test and of the folds follow from it.
        callback : function, optional
            Called as ``callback(done, total, best_score)`` while the search runs.
        score : {"accuracy", "balanced_accuracy", "auc", "log_loss", "r2", "mae", "rmse"}, optional
            What leads the search and judges the model; by default R² or accuracy, and the AUC
            where a class is rare (below 20 % of two classes).
        positive : label, optional
            The one of two classes that sensitivity and specificity are about; by default the rarer.
        order_by : str, optional
            A column, such as a date: the test rows are the latest by it, as new rows will be.
        group : str, optional
            A column, such as a person: rows with the same value stay together, in training or in
            the test, as new rows will be of others. It is not learnt from.
        cost : dict, optional
            What it costs to miss a row of a class, ``{"disease": 5}``, 1 for the others.
        """
        plan = make_plan(
            source, target, kernel=kernel, machine=machine, task=task, test_share=test_share,
            cv=cv, random_state=random_state, order_by=order_by, group=group,
        )  # fmt: skip
        return run(
            keep_copies_together(plan), time_limit=time_limit, callback=callback, score=score,
            positive=positive, cost=cost,
        )  # fmt: skip

    # ---- what it found ------------------------------------------------------------------------

    @property
    def task(self) -> str:
        """Two classes, many classes or a number."""
        return self.schema.task

    @property
    def target(self) -> str:
        """The name of the target."""
        return self.schema.target or ""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the columns of ``predict_proba``; none for a number."""
        return tuple(np.asarray(getattr(self.model, "classes_", ())).tolist())

    @property
    def seed(self) -> int:
        """The old name of ``random_state``."""
        warnings.warn(
            "Study: 'seed' is now called 'random_state', as everywhere; the old name will be "
            "removed.",
            FutureWarning,
            stacklevel=2,
        )
        return self.random_state

    @property
    def scores(self) -> list[MeasuredScore]:
        """Scores on the test rows, with intervals and the baseline's; the main one first."""
        return self.record.scores

    @property
    def certificate(self) -> Certificate | None:
        """How far the fit is from the best possible one; None where nothing proves that."""
        machine = last_step(self.model)
        parts = getattr(machine, "certificates_", None)
        return Certificate.total(parts) if parts else getattr(machine, "certificate_", None)

    @property
    def unproven(self) -> str:
        """Why there is no certificate; empty where there is one."""
        row = registry.row_of(type(last_step(self.model)))
        return "" if row is None else row.unproven

    # ---- using it -----------------------------------------------------------------------------

    def predict(self, source: DataSource) -> Any:
        """Return the model's answer to each row of a file or table."""
        return self.model.predict(self._aligned(self._read(source, False)))

    def predict_proba(self, source: DataSource) -> Any:
        """Return the probability of each class (columns, as in ``classes``) for each row."""
        if not hasattr(self.model, "predict_proba"):
            why = "it predicts a number" if self.task == "number" else f"{self.machine} has none"
            raise InvalidInput(
                f"The model of {self.source} gives no probabilities: {why}. Use predict, or "
                "answers for its decision values."
            )
        return self.model.predict_proba(self._aligned(self._read(source, False)))

    def answers(self, source: DataSource, level: float | None = None) -> PredictionTable:
        """Return the answers with what rows are called and how sure the answers are.

        Classes have probabilities or decision values, and ``set``, the classes that the true one
        is among with probability ``level``; numbers have ``low`` and ``high``, which the true one
        lies between as often. Both are promised by split conformal prediction if new rows come
        from where the test rows came from. The level is 0.9 by default, or none where there were
        too few test rows.
        """
        far = reach(self.nonconformity, level, self.source)
        table = self._read(source, False)
        return answers_of(self.model, self._aligned(table), table, self.identifiers, far)

    def remarks(self, source: DataSource) -> list[str]:
        """Return for each row what should be known of its answer, or an empty text.

        Values that were filled in, categories that were never seen, numbers outside of the range
        of training, and rows that no training row resembles.
        """
        table = self._read(source, False)
        return remarks_of(self.model, self.schema, table, self._aligned(table))

    def explain(self, source: DataSource) -> Explanation:
        """Return how much each column gives to each answer; see :func:`mercer.explain`."""
        return explain(self.model, self._aligned(self._read(source, False)))

    def shares(self, source: DataSource) -> PredictionTable:
        """Return the answers with the share of each column in each of them."""
        table = self._read(source, False)
        rows = self._aligned(table)
        answers = answers_of(self.model, rows, table, self.identifiers)
        return shares_of(answers, explain(self.model, rows))

    def shares_within(self, source: DataSource) -> PredictionTable:
        """Return a row for each letter or node, with its share; see :func:`mercer.explain_within`.

        ``source`` is new data with texts or graphs that the model counts in.
        """
        table = self._read(source, False)
        rows = self._aligned(table)
        answers = answers_of(self.model, rows, table, self.identifiers)
        return places_of(answers, explain_within(self.model, rows))

    def certify(self, source: DataSource) -> Certificate:
        """Judge the fit from scratch on the data that it was made from.

        ``source`` is the same file again: the training rows are found by their places in it.
        """
        if self.unproven:
            raise InvalidInput(f"{self.machine}: there is nothing to prove: {self.unproven}.")
        return certify(last_step(self.model), *self._training(source))

    def carried_proof(self, source: DataSource) -> CarriedProof:
        """Return what :meth:`write_report` takes as ``proof``; ``source`` as in :meth:`certify`."""
        return carried_proof(last_step(self.model), *self._training(source))

    def _training(self, source: DataSource) -> tuple[Any, Any]:
        table = self._read(source, None if self.schema.width is not None else self.target)
        if len(table) != self.rows or table.target is None:
            raise InvalidInput(
                f"{table.source} has {len(table):,} rows with a target, and the model was made "
                f"from {self.rows:,}. Give the data of {self.source}, unchanged."
            )
        training = table.take(self.train_rows)
        return before_machine(self.model, self._aligned(training)), training.target

    def _read(self, source: DataSource, target: Targets) -> Any:
        """Read new data as training data were read; without a target no row is left out."""
        if isinstance(source, str | os.PathLike) or (target is not False and is_data_frame(source)):
            return read_table(source, target, like=self.schema)
        return source

    def _aligned(self, table: Frame) -> Any:
        return with_short_indices(self.schema.align(table))

    # ---- files --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model and all that is known of it to one file of plain data."""
        save(self.model, path, saved.plain(self))
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Read what :meth:`save` has written; nothing in the file is ever executed."""
        parts = saved.checked(load_record(path), os.fspath(path))
        return cls(model=load(path), **parts)

    def write_report(self, path: str | os.PathLike[str], proof: CarriedProof | None = None) -> Path:
        """Write the report as one page of HTML that needs no network.

        With a ``proof`` the page holds the training rows, and checks its certificate itself.
        """
        return write_report(self.record, path, proof)

    def _repr_html_(self) -> str:
        """Show the scores and the verdict in a notebook."""
        return table_in_html(
            ("score", "value", "95 % interval", "baseline"),
            [(s.name, value(s), interval(s), value(s, s.baseline)) for s in self.scores],
            title=f"{self.source}: {self.target or 'the target'}, {self.task}, {self.machine}",
            below=[self.record.verdict, *self.notes[:4]],
        )

    def __repr__(self) -> str:
        return (
            f"Study of {self.source}: {self.target or 'the target'}, {self.task}\n"
            f"  {self.record.headline}\n  {self.record.verdict}"
        )


def run(plan: Plan, **how: Any) -> Study:
    """Carry out a plan: tune and fit on the training rows, judge on the test rows."""
    return Study(**carry_out(plan, **how))


def before_machine(model: Model, X: Objects) -> Any:
    """Return data as the machine of a pipeline sees them."""
    return model[:-1].transform(X) if hasattr(model, "steps") else X

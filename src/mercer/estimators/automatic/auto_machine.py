"""What the automatic machines share: a contest on a table, and a vote of the best few."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._files.fields import COUNT, TEXT, A, ListOf, Numbers, OneOf, Plain, State, WrongState
from mercer._interrupts import finishing
from mercer._sklearn import Interval, num_samples
from mercer._typing import Array, IntArray, Objects, RowGroups, SampleWeights, Targets
from mercer.estimators.automatic.contest import (
    Candidate,
    Contest,
    Entry,
    Watch,
)
from mercer.estimators.automatic.contest_rows import race_rows, without_copies
from mercer.estimators.automatic.measures import Measure
from mercer.estimators.automatic.table_coding import (
    TableCoding,
    codes_of_categories,
    has_far_values,
    skewed_columns,
    varied_texts,
)
from mercer.estimators.base import CheckedParameters
from mercer.estimators.constructor import parameters
from mercer.estimators.ridge.changed_labels import smoother_of
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.estimators.ridge.ridge_judge import judge_ridge
from mercer.estimators.state import SEEN
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.expansion import Expansion
from mercer.kernels.encoders import is_frame
from mercer.kernels.expression import format_kernel
from mercer.landmarks.choose import Nystrom
from mercer.problems.certificate import Certificate
from mercer.solvers.ridge_changes import RidgeSmoother

RACE_ROWS = 3000
"""Rows that a contest looks at, and that members learn from exactly: more go by landmarks."""
LANDMARKS = 1000
"""Landmarks of members that learn from more rows: a second for 100,000."""
_RACE_SHARE = 0.7
"""The part of a time limit that is for the contest; the members are fitted in the rest."""


@dataclass(frozen=True, eq=False)
class Member:
    """A machine of the vote, the coding it sees and the factors of its coordinates."""

    coding: int
    weights: Array
    machine: KernelRidge

    STATE: ClassVar[State] = {
        "coding": COUNT,
        "weights": Numbers("coordinates", low=0),
        "machine": A(KernelRidge),
    }

    def smoother(self, table: Array) -> RidgeSmoother:
        """Return the linear map from the targets of the fit to values at rows as it sees them."""
        machine = self.machine
        if machine.approximation is not None:
            raise InvalidParameter(
                f"wrong_rows: beyond {RACE_ROWS:,} rows the members learn through landmarks, where "
                "a row changes more than its own coefficient; fit fewer rows."
            )
        points = machine.expansion_points
        shift = np.full(len(points), float(machine.alpha_))
        rows = machine.kernel_.encode(table)
        return smoother_of(machine.kernel_, points, rows, shift, True)


@dataclass(frozen=True, eq=False)
class VoterFunctions:
    """What one member adds to the decision functions: Σᵢ aᵢⱼ k(zᵢ, z(x)), without a constant.

    Attributes
    ----------
    coding, weights
        z(x) are the coordinates of a row, times their weights.
    expansion : Expansion
        Points, kernel and the aᵢⱼ, the member's share in the mean included.
    """

    coding: TableCoding
    weights: Array
    expansion: Expansion

    @property
    def owners(self) -> list[str]:
        """The column of the table that each coordinate belongs to."""
        return self.coding.owners

    def coordinates(self, X: Objects) -> Array:
        """Return rows as the member sees them."""
        return self.coding.transform(X) * self.weights


@parameters
class AutoMachine(CheckedParameters, BaseEstimator):
    """A machine for tables that chooses everything by leave-one-out, and votes."""

    _: KW_ONLY
    max_members: int = 5
    time_limit: float | None = None
    random_state: int = 0
    codings_: list[TableCoding] = field(init=False)
    members_: list[Member] = field(init=False)

    unseen_weights: ClassVar[bool] = False
    """Whether learnt weights of columns are judged on rows that they were not learnt from."""
    tries_ranks: ClassVar[bool] = False
    """Whether ranks contend with standardised numbers where some values are far out."""
    tries_logarithms: ClassVar[bool] = False
    """Whether logarithms of columns with long tails contend with standardised numbers."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_members": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    STATE: ClassVar[State] = {
        **SEEN,
        "codings_": ListOf(A(TableCoding)),
        "members_": ListOf(A(Member)),
        "leaderboard_": ListOf(A(dict)),
        "alignments_": A(dict),
        "loo_values_": OneOf(
            Numbers("rows", finite=False), Numbers("rows", "functions", finite=False)
        ),
        "score_": Plain(),
        "stopped_": TEXT,
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where members and codings do not fit."""
        if not self.members_:
            raise WrongState("it has no members")
        for member in self.members_:
            if member.coding >= len(self.codings_):
                raise WrongState("a member has a coding that is not there")
            coordinates = len(self.codings_[member.coding].names)
            if not len(member.weights) == coordinates == member.machine.n_features_in_:
                raise WrongState("a member has not one weight for each coordinate")

    @property
    def certificates_(self) -> list[Certificate]:
        """How far the fit of each member is from its best one; the choice is not proven."""
        check_is_fitted(self)
        return [member.machine.certificate_ for member in self.members_]

    @contextmanager
    def using(self, watch: Watch | None) -> Iterator[None]:
        """Let someone watch the contest of a fit inside."""
        self._watch = watch
        try:
            yield
        finally:
            del self._watch

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Certificate:
        """Judge all fits from scratch on their training data, as :func:`certify` does."""
        if sample_weight is not None:
            raise InvalidParameter(f"certify: {type(self).__name__} has no weights of rows.")
        X, Y = self._read(X, reset=False), self._targets(y)
        return Certificate.total(
            [
                judge_ridge(
                    member.machine, self.codings_[member.coding].transform(X) * member.weights,
                    Y, None,
                )
                for member in self.members_
            ]
        ).under("")  # fmt: skip

    def voter_functions(self) -> tuple[list[VoterFunctions], Array]:
        """Return what members add to the decision functions, and the constants of these."""
        check_is_fitted(self)
        slope, shift = self._units()
        parts, constants = [], np.array(shift, dtype=np.float64)
        for member in self.members_:
            expansion, own = member.machine.function_expansion()
            share = slope / len(self.members_)
            functions = Expansion(
                expansion.kernel, expansion.points, share * expansion.coefficients
            )
            parts.append(VoterFunctions(self.codings_[member.coding], member.weights, functions))
            constants = constants + share * own
        return parts, constants

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    # ---- inside --------------------------------------------------------------------------------

    def _targets(self, y: Targets) -> Array:
        """Return what the members learn for answers ``y``: an array of shape (n, functions)."""
        raise NotImplementedError

    def _units(self) -> tuple[float, Array]:
        """Return the factor of the members' mean in the decision functions, and what is added."""
        raise NotImplementedError

    def _read(self, X: Objects, reset: bool) -> Objects:
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self,
            X,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
            reset=reset,
        )

    def _contend(self, X: Objects, Y: Array, measure: Measure, groups: RowGroups) -> Array:
        """Run the contest, fit its winners, and return their mean on rows that were left out."""
        began = time.perf_counter()
        limit = math.inf if self.time_limit is None else float(self.time_limit)
        codings = [TableCoding.of(X)]
        as_category = codes_of_categories(X)
        if as_category:
            codings.append(TableCoding.of(X, as_category))
        similar = varied_texts(X)
        if similar:
            codings.append(TableCoding.of(X, similar=similar))
        if self.tries_ranks and has_far_values(X):
            codings.append(TableCoding.of(X, ranked=True))
        skewed = skewed_columns(X) if self.tries_logarithms else []
        if skewed:
            codings.append(TableCoding.of(X, logged=skewed))
        tables = [coding.transform(X) for coding in codings]
        seen = race_rows(num_samples(X), RACE_ROWS, self.random_state)
        rows = seen[without_copies(tables[0][seen], Y[seen])]
        contest = Contest(
            [Z[rows] for Z in tables], Y[rows], measure, began + _RACE_SHARE * limit,
            vars(self).get("_watch"), _group_numbers(groups, len(Y), rows), self.unseen_weights,
        )  # fmt: skip
        contest.run()
        voters = contest.voters(self.max_members)
        # A penalty for rows that count once, for as many as there are; more rows need less of it.
        growth = len(seen) / len(rows) * math.sqrt(len(Y) / len(seen))
        self.members_ = []
        # The contest is decided: what is left is short, and worth waiting for.
        with finishing():
            for voter in voters:
                if self.members_ and time.perf_counter() > began + limit:
                    break
                weights = contest.weights(voter.candidate)
                machine = KernelRidge(
                    voter.alpha * growth,
                    kernel=voter.kernel,
                    fit_intercept=True,
                    approximation=None if len(seen) == len(Y) else Nystrom(LANDMARKS),
                )
                machine.fit(tables[voter.candidate.coding] * weights, Y)
                self.members_.append(Member(voter.candidate.coding, weights, machine))
        self.codings_ = codings
        self.stopped_ = contest.stopped
        self.score_ = voters[0].judged.score
        best = codings[voters[0].candidate.coding]
        self.alignments_ = _by_column(best, contest.alignments(voters[0].candidate.coding))
        chosen = {voter.candidate for voter in voters[: len(self.members_)]}
        self.leaderboard_ = [_line(e, contest.entries[0], chosen) for e in contest.entries]
        values = np.full(Y.shape, np.nan)
        values[rows] = np.mean([v.left_out for v in voters[: len(self.members_)]], axis=0)
        return values

    def _mean_values(self, X: Objects) -> Array:
        """Return the mean of the members' functions: an array of shape (rows, functions)."""
        values = [member.machine.predict(table) for member, table in self._seen_by_members(X)]
        return np.asarray(np.mean(values, axis=0))

    def _seen_by_members(self, X: Objects) -> list[tuple[Member, Array]]:
        """Return each member with the rows as it sees them."""
        check_is_fitted(self)
        X = self._read(X, reset=False)
        used = {member.coding for member in self.members_}
        tables = {c: self.codings_[c].transform(X) for c in used}
        return [(member, tables[member.coding] * member.weights) for member in self.members_]


def _group_numbers(groups: RowGroups, count: int, rows: IntArray) -> IntArray | None:
    """Return the groups of the rows that take part, as numbers from 0 on."""
    if groups is None:
        return None
    names = np.asarray(groups)
    if names.shape != (count,):
        raise InvalidInput(
            f"groups has to name the group of each of the {count} rows; its shape is {names.shape}."
        )
    numbers = np.unique(names[rows], return_inverse=True)[1]
    if numbers.max() == 0:
        raise InvalidInput(
            "groups puts all rows into one group, so that none is left to learn from. Give at "
            "least two groups, or none."
        )
    return numbers.astype(np.intp)


def _line(entry: Entry, best: Entry, chosen: set[Candidate]) -> dict[str, Any]:
    candidate = entry.candidate
    return {
        "kernel": format_kernel(entry.kernel),
        "column_weights": candidate.power,
        "learnt": candidate.learnt,
        "coding": candidate.coding,
        "alpha": entry.alpha,
        "score": entry.judged.score,
        "behind": best.judged.score - entry.judged.score,
        "noise": best.judged.noise(entry.judged),
        "member": candidate in chosen,
        "seconds": entry.seconds,
    }


def _by_column(coding: TableCoding, alignments: Array) -> dict[str, float]:
    """Return the alignment of each column of the table: that of its best coordinate."""
    found: dict[str, float] = {}
    for name, value in zip(coding.owners, alignments, strict=True):
        found[name] = max(found.get(name, 0.0), float(value))
    return dict(sorted(found.items(), key=lambda item: -item[1]))

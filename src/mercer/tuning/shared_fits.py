"""Many fits on shared matrices: the machines of a grid, on the training parts of many folds.

Kernels of the same statistic (distances …) share it, fits with the same kernel share its matrix,
and a path over C shares its answers. What a test part is asked comes from the same matrix.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.utils import get_tags

from mercer import _memory, _parallel
from mercer._interrupts import interruptible
from mercer._typing import Array, IntArray, Objects, SampleWeights, Targets
from mercer.estimators.base import DecisionRule, FitData, FitPlan, Functions, KernelMachine
from mercer.estimators.kernel_argument import KernelArgument, check_definite
from mercer.exceptions import NumericalOverflow
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import Encoder
from mercer.kernels.points import Points
from mercer.solvers.base import Status
from mercer.solvers.svm.box_qp import Scratch
from mercer.tuning.known_answers import KINDS, KnownAnswers
from mercer.tuning.race import Race

Item = TypeVar("Item")

_LARGEST_VALUE = 1e30
"""Kernel values up to this size leave room for sums and products in float32."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Objects, and which of their rows a fit sees and which it is tested on.

    ``data`` are targets and weights of the training rows. Folds with the very same ``objects``
    share their matrices.
    """

    objects: Objects
    data: FitData
    train: IntArray
    test: IntArray

    @classmethod
    def of(
        cls,
        objects: Objects,
        y: Targets,
        sample_weight: SampleWeights,
        train: IntArray,
        test: IntArray,
    ) -> Fold:
        """Return a fold of these objects; targets and weights are those of the training rows."""
        return cls(objects, FitData(y, sample_weight, len(train)), train, test)


@dataclass(frozen=True, eq=False)
class Fitted:
    """One machine of the grid after its fit to one fold, ready to be scored.

    ``on_test`` and ``on_train`` answer as the fitted machine would on these rows; ``on_train`` is
    None where nobody asked for it.
    """

    cell: int
    fold: int
    on_test: KnownAnswers[Any]
    on_train: KnownAnswers[Any] | None
    status: str
    seconds: float


@dataclass(frozen=True, eq=False)
class _Job:
    """The fits to one fold that share one matrix."""

    fold: int
    gram: Gram
    cells: list[int] = field(default_factory=list)


_Task: TypeAlias = tuple[_Job, "Array | None"]
"""A job, and its matrix where others use the same."""
_Shared: TypeAlias = tuple[KernelArgument, bool]
"""What machines agree in that share matrices: their kernel, and how strict they are about it."""
_Plan: TypeAlias = FitPlan[DecisionRule]
_Planned: TypeAlias = tuple[tuple[float, ...], int, _Plan]
"""Where a cell stands on its path, the cell, and its plan on one fold."""

_OF_THE_KERNEL = ("kernel", "gamma", "degree", "coef0")
"""Parameters of a machine that only its kernel depends on: plans do not know them."""


class SharedFits:
    """Fits of machines to folds, on matrices as shared as can be.

    Parameters
    ----------
    machines : dict of kernel machines
        The cells of a grid by their numbers in the race. Their fits are their plans.
    folds : sequence of Fold
    score : function
        Called with the fits of one path to one fold, in any order and from any thread.
    race : Race
        Says which cells are still worth computing; all others may be left out.
    train_too : bool
        Whether answers on the training rows are needed.
    deadline : function
        Gives the time at which to stop, on the clock ``time.perf_counter``.
    between : function
        Called between two rounds of fits; it may raise to stop them.
    stepwise : bool
        Finish a few kernels before others begin, for those who watch or may stop the search.
    """

    def __init__(
        self,
        machines: Mapping[int, KernelMachine],
        folds: Sequence[Fold],
        score: Callable[[Sequence[Fitted]], None],
        race: Race,
        train_too: bool = False,
        threads: int | None = None,
        deadline: Callable[[], float] = lambda: math.inf,
        between: Callable[[], None] = lambda: None,
        stepwise: bool = False,
    ) -> None:
        self.machines, self.folds, self.score, self.race = machines, folds, score, race
        self.train_too, self.deadline, self.stepwise = train_too, deadline, stepwise
        self.between, self.threads = between, _parallel.thread_count(threads)
        self.failed: list[tuple[int, int]] = []
        """Fits that raised: to be done again alone, so that the error is raised as usual."""
        self.memory = Scratch()
        some = next(iter(machines.values()))
        self._answers = KINDS[get_tags(some).estimator_type]
        self._solves_together = some.solves_paths_together
        # Numbers in the place of what they stand for, which takes long to hash.
        numbers: dict[Hashable, int] = {}
        self._apart = {
            cell: numbers.setdefault(_apart_from_kernel(machine), len(numbers))
            for cell, machine in machines.items()
        }
        self._made: dict[tuple[int, int], _Plan] = {}

    def run(self) -> None:
        """Do all fits: as a race between the cells where the highest score is known."""
        kernels = _middle_first(self._jobs())
        largest = max((jobs[0].gram.shape[0] for jobs in kernels), default=1)
        # Twice as many matrices as threads keep all threads busy; more would only take memory.
        size = 2 * self.threads
        if self.stepwise or _matrices_that_fit(largest) < size:
            size = self.threads
        for s in range(0, len(kernels), size):
            together = [self._ready(jobs, at) for at, jobs in enumerate(kernels[s : s + size])]
            for tasks in self._rounds([ready for ready in together if ready]):
                with interruptible():
                    _parallel.run(self._do, self._together(tasks), self.threads)
                    self.between()

    def _rounds(self, together: list[list[_Task]]) -> Iterator[list[_Task]]:
        """Yield the fits to do at once.

        In a race the first fold shows who leads. The leader then runs all folds, so that the
        others know what they have to beat. With less than half of the folds a cell with score s is
        out only if s < 2 best − 1, which is rare where the best is not near 1: so the others run
        half of the folds at once, and then fold by fold. Where folds cost less together than apart
        that saves nothing.
        """
        if math.isinf(self.race.highest) or self._solves_together:
            yield [task for ready in together for task in ready]
            return
        if not together:
            return
        yield [ready[0] for ready in together]
        leader = max(together, key=lambda ready: max(map(self.race.bound, ready[0][0].cells)))
        yield leader[1:]
        others = [ready for ready in together if ready is not leader]
        last = max(map(len, together))
        half = max(1, (last + 1) // 2)
        yield [task for r in range(1, half) for ready in others for task in ready[r : r + 1]]
        for r in range(half, last):
            yield [task for ready in others for task in ready[r : r + 1]]

    def _together(self, tasks: list[_Task]) -> list[list[_Task]]:
        """Put tasks together that cost less so, as long as there is something for all threads."""
        if not self._solves_together:
            return [[task] for task in tasks]
        alike: dict[int, list[_Task]] = defaultdict(list)
        for task in tasks:
            alike[id(task[0] if task[1] is None else task[1])].append(task)
        pieces = -(-self.threads // max(1, len(alike)))
        return [same[s::pieces] for same in alike.values() for s in range(min(pieces, len(same)))]

    def _ready(self, jobs: list[_Job], at: int) -> list[_Task]:
        """Return jobs with their matrix, where it is the same for all of them."""
        first = jobs[0].gram
        if any(job.gram is not first for job in jobs):
            return [(job, None) for job in jobs]
        K = self._matrix(first, at, self.threads)
        if K is None:
            self._give_up(jobs)
            return []
        return [(job, K) for job in jobs]

    def _jobs(self) -> list[list[_Job]]:
        """Settle the kernel of each cell on each training part; list the jobs of each kernel."""
        sources: dict[int, _Source] = {}
        kernels: dict[_Shared, list[_Job]] = defaultdict(list)
        cells = self.machines.items()
        shared = {cell: (machine.kernel_argument, machine.strict) for cell, machine in cells}
        refused = {cell for cell, machine in cells if not machine.accepts_parameters()}
        made: dict[Hashable, Kernel] = {}
        for k, fold in enumerate(self.folds):
            source = sources.setdefault(id(fold.objects), _Source(fold.objects, self.threads, made))
            jobs: dict[_Shared, _Job | None] = {}
            for cell, key in shared.items():
                if key not in jobs:
                    gram = source.gram(self.machines[cell], key[0], fold.train)
                    jobs[key] = job = None if gram is None else _Job(k, gram)
                    if job is not None:
                        kernels[key].append(job)
                job = jobs[key]
                if job is None or cell in refused:
                    self.failed.append((cell, k))
                else:
                    job.cells.append(cell)
        return [jobs for jobs in kernels.values() if jobs[0].cells]

    def _do(self, tasks: list[_Task]) -> None:
        K = tasks[0][1]
        if K is None:
            K = self._matrix(tasks[0][0].gram, -1, 1)
        if K is None:
            self._give_up([job for job, _ in tasks])
            return
        paths = [(job.fold, path) for job, _ in tasks for path in _paths(self._plans(job))]
        if paths:
            self._solve(K, paths)

    def _matrix(self, gram: Gram, number: int, threads: int) -> Array | None:
        """Return the values of a matrix, in memory that others use later; None if they overflow."""
        K = self.memory.matrix(gram.shape[0], number)
        try:
            _fill(gram, K, threads)
        except NumericalOverflow:
            return None
        return K if np.abs(np.diagonal(K)).max() <= _LARGEST_VALUE else None

    def _give_up(self, jobs: Iterable[_Job]) -> None:
        self.failed += [(cell, job.fold) for job in jobs for cell in job.cells]

    def _plans(self, job: _Job) -> list[_Planned]:
        """Return the plans of machines that differ in everything but their kernel, in order."""
        plans: list[_Planned] = []
        data = self.folds[job.fold].data
        for cell in job.cells:
            try:
                key = job.fold, self._apart[cell]
                if key not in self._made:
                    self._made[key] = self.machines[cell].plan(data)
                plans.append((self._made[key].position, cell, self._made[key]))
            except ValueError:
                self.failed.append((cell, job.fold))
        plans.sort()
        # A path may be cut behind the last cell that can still win, and nowhere else.
        while plans and not self.race.can_win(plans[-1][1]):
            plans.pop()
        return plans

    def _solve(self, K: Array, paths: list[tuple[int, list[_Planned]]]) -> None:
        """Solve paths, each on a fold, and score them."""
        plans = [[plan for _, _, plan in path] for _, path in paths]
        parts = [(own, self.folds[k].train) for own, (k, _) in zip(plans, paths, strict=True)]
        answers = plans[0][0].solve_paths(parts, K, self.memory, self.deadline())
        for (k, path), functions in zip(paths, answers, strict=True):
            self._judge(K, k, path, functions)

    def _judge(
        self, K: Array, k: int, path: list[_Planned], answers: Sequence[Functions | None]
    ) -> None:
        """Score the answers to a path; what the time did not suffice for is missing at the end."""
        fold = self.folds[k]
        found: list[tuple[int, _Plan, Functions]] = []
        for (_, cell, plan), functions in zip(path, answers, strict=False):
            if functions is None:
                self.failed.append((cell, k))
            elif functions.status == Status.INTERRUPTED:
                # A solver ends with its best answer then; here it is the search that has to end.
                raise KeyboardInterrupt
            else:
                found.append((cell, plan, functions))
        if not found:
            return
        columns = np.concatenate([functions.coefficients for _, _, functions in found], axis=1)
        biases = np.concatenate([functions.intercepts for _, _, functions in found])
        on_test = _product(K, fold.test, fold.train, columns) + biases
        on_train = _product(K, fold.train, fold.train, columns) + biases if self.train_too else None
        at, fits = 0, []
        for cell, plan, functions in found:
            mine = slice(at, at + len(functions.intercepts))
            at = mine.stop
            test = self._answers(plan.rule, on_test[:, mine])
            train = None if on_train is None else self._answers(plan.rule, on_train[:, mine])
            fits.append(Fitted(cell, k, test, train, functions.status, functions.seconds))
        self.score(fits)


class _Source:
    """Some objects; read once for each kind of argument, encoded once for each kind of kernel."""

    def __init__(self, objects: Objects, threads: int, made: dict[Hashable, Kernel]) -> None:
        self.objects, self.threads, self._made = objects, threads, made
        self._read: dict[tuple[type[KernelArgument], bool], Objects] = {}
        self._grams: dict[frozenset[Encoder], Gram] = {}
        self._settled: dict[KernelArgument, list[Gram]] = defaultdict(list)
        self._parts: dict[tuple[frozenset[Encoder], int], Points] = {}

    def gram(
        self, machine: KernelMachine, argument: KernelArgument, train: IntArray
    ) -> Gram | None:
        """Return the matrix of a kernel as a fit to some rows settles it; None where it cannot."""
        try:
            key = type(argument), argument.takes_vectors
            if key not in self._read:
                self._read[key] = machine.read(self.objects)
            kernel = self._kernel(argument, self._read[key])
            encoders = frozenset(kernel.encoders())
            if encoders not in self._grams:
                self._grams[encoders] = self._first(argument, kernel, self._read[key])
            whole = self._grams[encoders]
            part = encoders, id(train)
            if part not in self._parts:
                self._parts[part] = whole.points.take(train)
            kernel = kernel.resolve(self._parts[part])
            check_definite(kernel, machine.needed_definite, machine.strict, type(machine).__name__)
        except (ValueError, TypeError, ArithmeticError):
            return None
        known = self._settled[argument]
        for gram in known:
            if gram.kernel == kernel:
                return gram
        known.append(whole.with_kernel(kernel))
        return known[-1]

    def _kernel(self, argument: KernelArgument, X: Objects) -> Kernel:
        """Return the kernel of an argument; all that most know of the data is their columns."""
        if not argument.compares_objects:
            return argument.kernel_for(X)
        key = argument, getattr(X, "shape", ())[1:]
        if key not in self._made:
            self._made[key] = argument.kernel_for(X)
        return self._made[key]

    def _first(self, argument: KernelArgument, kernel: Kernel, X: Objects) -> Gram:
        """Return a matrix that keeps statistics for the next kernel, while there is memory."""
        points = argument.points_of(kernel, X)
        room = _SMALL_ROOM
        if len(points) > _FEW_ROWS:
            there = _memory.available_bytes()
            room = _NO_LIMIT if there is None else max(0, there - 32 * len(points) ** 2)
        return Gram(kernel, points, statistic_bytes=room, threads=self.threads, dtype=np.float64)


_STRIP_BYTES = 1 << 20
"""About the size of an L2 cache, where a strip stays while it is computed."""
_FEW_ROWS, _SMALL_ROOM = 512, 1 << 28
"""Rows up to which nobody asks for the memory, which takes a while, and the bytes for statistics
then: 128 matrices of so many rows."""
_NO_LIMIT = 1 << 62
"""More bytes than any computer has, for those that do not say how many they have."""


def _fill(gram: Gram, K: Array, threads: int) -> None:
    """Write a matrix: in strips of whole rows where its statistics are there."""
    if not gram.hold_statistics():
        K[:] = gram.dense()
        return
    everything = slice(0, len(K))
    size = max(_STRIP_BYTES // (8 * len(K)), 1)

    if size >= len(K):
        gram.block(everything, everything, K)
        return

    def task(start: int) -> None:
        strip = slice(start, min(start + size, len(K)))
        gram.block(strip, everything, K[strip])

    _parallel.run(task, range(0, len(K), size), threads)


def _matrices_that_fit(count: int) -> int:
    """Return how many matrices of so many rows fit a quarter of the memory that is free."""
    there = _memory.available_bytes()
    return 1 if there is None else there // (32 * count**2)


def fits_memory(count: int, threads: int | None = None) -> bool:
    """Whether the matrices of a search over so many rows fit half of the memory that is free."""
    there = _memory.available_bytes()
    needed = (8 + 12 * _parallel.thread_count(threads)) * count**2
    return there is None or 2 * needed < there


def _apart_from_kernel(machine: KernelMachine) -> Hashable:
    """Return what is equal where machines of one grid differ in nothing but their kernels."""
    rest = {name: id(value) for name, value in vars(machine).items() if name not in _OF_THE_KERNEL}
    return type(machine), tuple(rest.items())


def _product(K: Array, rows: IntArray, columns: IntArray, coefficients: Array) -> Array:
    """Return K[rows, columns] @ coefficients; whole rows are copied faster than parts of them."""
    everywhere = np.zeros((len(K), coefficients.shape[1]))
    everywhere[columns] = coefficients
    product: Array = K[rows] @ everywhere
    return product


def _paths(plans: list[_Planned]) -> list[list[_Planned]]:
    """Cut a list of plans where one is about other rows than the last, or stops at another tol."""
    paths: list[list[_Planned]] = []
    for planned in plans:
        if paths and planned[2].continues(paths[-1][-1][2]):
            paths[-1].append(planned)
        else:
            paths.append([planned])
    return paths


def _middle_first(items: Sequence[Item]) -> list[Item]:
    """Order a grid from its middle outwards: the best point is rarely at an end."""
    middle = (len(items) - 1) / 2
    return [items[i] for i in sorted(range(len(items)), key=lambda i: (abs(i - middle), i))]

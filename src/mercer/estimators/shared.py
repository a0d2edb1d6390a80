"""Many fits on shared matrices: the machines of a grid, on the training parts of many folds.

Kernels of the same statistic (distances …) share it, fits with the same kernel share its matrix,
and a path over C shares its answers. What a test part is asked comes from the same matrix.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from mercer import _memory, _parallel
from mercer._typing import Array, IntArray
from mercer.estimators.choice import check_definite
from mercer.exceptions import NumericalOverflow
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs, Values
from mercer.kernels.points import Points
from mercer.kernels.statistics import Statistic
from mercer.kernels.wrappers import Precomputed
from mercer.solvers.paths import Workshop

_LARGEST_VALUE = 1e30
_STRIP = 32


@dataclass(frozen=True, eq=False)
class Fold:
    """Objects, and which of their rows a fit sees and which it is tested on.

    ``y`` and ``sample_weight`` are those of the training rows. Folds with the very same ``objects``
    share their matrices.
    """

    objects: Any
    y: Any
    sample_weight: Any
    train: IntArray
    test: IntArray


@dataclass(frozen=True, eq=False)
class Fitted:
    """One machine of the grid after its fit to one fold, ready to be scored.

    ``on_test`` and ``on_train`` answer as the fitted machine would on these rows; ``on_train`` is
    None where nobody asked for it.
    """

    cell: int
    fold: int
    on_test: Any
    on_train: Any
    status: str
    seconds: float


@dataclass(frozen=True, eq=False)
class _Job:
    """The fits to one fold that share one matrix."""

    fold: int
    source: _Source
    kernel: Kernel
    cells: list[int] = field(default_factory=list)


_Task: TypeAlias = tuple[_Job, "Array | None"]
"""A job, and its matrix where others use the same."""


class SharedFits:
    """Fits of machines to folds, on matrices as shared as can be.

    Parameters
    ----------
    machines : sequence of kernel machines
        The cells of a grid; each says how it poses its problems (``_pose``), and solves many such
        (``_solve_together``).
    folds : sequence of Fold
    tell : function
        Called with each ``Fitted``, in any order and from any thread.
    wanted : function
        Asked for the cells that are still worth computing; all others may be left out.
    train_too : bool
        Whether answers on the training rows are needed.
    ends : function
        Gives the time at which to stop, as the clock ``time.perf_counter`` tells it.
    between : function
        Called between two rounds of fits; it may raise to stop them.
    promise : function
        Asked how good a cell may become.
    stepwise : bool
        Finish a few kernels before others begin, for those who watch or may stop the search.
    """

    def __init__(
        self,
        machines: Sequence[Any],
        folds: Sequence[Fold],
        tell: Callable[[Fitted], None],
        wanted: Callable[[int], bool],
        train_too: bool = False,
        threads: int | None = None,
        ends: Callable[[], float] = lambda: math.inf,
        between: Callable[[], None] = lambda: None,
        promise: Callable[[int], float] = lambda cell: 0.0,
        stepwise: bool = False,
    ) -> None:
        self.stepwise = stepwise
        self.between, self.promise = between, promise
        self.machines, self.folds, self.tell, self.wanted = machines, folds, tell, wanted
        self.train_too, self.ends = train_too, ends
        self.threads = _parallel.thread_count(threads)
        self.failed: list[tuple[int, int]] = []
        """Fits that raised: to be done again alone, so that the error is told as usual."""
        self.workshop = Workshop()

    def run(self, every_fold: bool) -> None:
        """Do all fits; with ``every_fold`` at once, else as a race between the cells."""
        plan = _middle_first(self._plan())
        largest = max((len(jobs[0].source) for jobs in plan), default=1)
        # Twice as many matrices as threads keep all threads busy; more would only take memory.
        size = 2 * self.threads
        if self.stepwise or _matrices_that_fit(largest) < size:
            size = self.threads
        for s in range(0, len(plan), size):
            together = [self._ready(jobs, at) for at, jobs in enumerate(plan[s : s + size])]
            for tasks in self._rounds([ready for ready in together if ready], every_fold):
                _parallel.run(lambda task: self._do(*task), tasks, self.threads)
                self.between()

    def _rounds(self, together: list[list[_Task]], every_fold: bool) -> Iterator[list[_Task]]:
        """Yield the fits to do at once.

        In a race the first fold shows who leads. The leader then runs all folds, so that the
        others know what they have to beat. With less than half of the folds a cell with score s is
        out only if s < 2 best − 1, which is rare where the best is not near 1: so the others run
        half of the folds at once, and then fold by fold.
        """
        if every_fold:
            yield [task for ready in together for task in ready]
            return
        if not together:
            return
        yield [ready[0] for ready in together]
        leader = max(together, key=lambda ready: max(map(self.promise, ready[0][0].cells)))
        yield leader[1:]
        others = [ready for ready in together if ready is not leader]
        last = max(map(len, together))
        half = max(1, (last + 1) // 2)
        yield [task for r in range(1, half) for ready in others for task in ready[r : r + 1]]
        for r in range(half, last):
            yield [task for ready in others for task in ready[r : r + 1]]

    def _ready(self, jobs: list[_Job], at: int) -> list[_Task]:
        """Return jobs with their matrix, where it is the same for all of them."""
        first = jobs[0]
        if any(job.source is not first.source or job.kernel != first.kernel for job in jobs):
            return [(job, None) for job in jobs]
        K = self.workshop.matrix(len(first.source), at)
        if not first.source.fill(first.kernel, K, self.threads):
            self._give_up(jobs)
            return []
        return [(job, K) for job in jobs]

    def _plan(self) -> list[list[_Job]]:
        """Settle the kernel of each cell on each training part; list the jobs of each kernel."""
        sources: dict[int, _Source] = {}
        plan: dict[tuple[Any, ...], list[_Job]] = defaultdict(list)
        refused = {cell for cell, machine in enumerate(self.machines) if not _accepted(machine)}
        for k, fold in enumerate(self.folds):
            source = sources.setdefault(id(fold.objects), _Source(fold.objects))
            jobs: dict[tuple[Any, ...], _Job | None] = {}
            for cell, machine in enumerate(self.machines):
                look = machine._kernel_parameters()
                if look not in jobs:
                    kernel = source.settled(machine, fold)
                    jobs[look] = None if kernel is None else _Job(k, source, kernel)
                    if kernel is not None:
                        plan[look].append(jobs[look])  # type: ignore[arg-type]
                job = jobs[look]
                if job is None or cell in refused:
                    self.failed.append((cell, k))
                else:
                    job.cells.append(cell)
        return [jobs for jobs in plan.values() if jobs[0].cells]

    def _do(self, job: _Job, K: Array | None) -> None:
        if K is None:
            K = self.workshop.matrix(len(job.source), -1)
            if not job.source.fill(job.kernel, K, 1):
                self._give_up([job])
                return
        self._chain(K, job.fold, job.cells)

    def _give_up(self, jobs: Iterable[_Job]) -> None:
        self.failed += [(cell, job.fold) for job in jobs for cell in job.cells]

    def _chain(self, K: Array, k: int, cells: list[int]) -> None:
        """Fit machines that differ in everything but their kernel, along a path."""
        fold = self.folds[k]
        posed: list[Any] = []
        for cell in sorted(cells, key=lambda c: self.machines[c]._path_position()):
            machine = self.machines[cell]._untold()
            try:
                problems = machine._pose(
                    fold.y, fold.sample_weight, len(fold.train), posed[-1][1] if posed else None
                )
            except ValueError:
                self.failed.append((cell, k))
                continue
            posed.append((cell, machine, problems))
        # A path may be cut behind the last cell that can still win, and nowhere else.
        while posed and not self.wanted(posed[-1][0]):
            posed.pop()
        for group in _runs(posed):
            self._fit(K, k, fold, group)

    def _fit(self, K: Array, k: int, fold: Fold, group: list[Any]) -> None:
        first = group[0][1]
        posed = [(machine, problems) for _, machine, problems in group]
        # What the time did not suffice for is missing at the end.
        answers = first._solve_together(K, fold.train, posed, self.workshop, self.ends())
        found = []
        for (cell, machine, _), functions in zip(group, answers, strict=False):
            if functions is None:
                self.failed.append((cell, k))
            else:
                found.append((cell, machine, functions))
        if not found:
            return
        columns = np.hstack([functions.coefficients for _, _, functions in found])
        on_test = _values(K, fold.test, fold.train, columns)
        on_train = _values(K, fold.train, fold.train, columns) if self.train_too else None
        at = 0
        for cell, machine, functions in found:
            intercepts = functions.intercepts
            mine = slice(at, at + len(intercepts))
            at = mine.stop
            self.tell(
                Fitted(
                    cell,
                    k,
                    machine._telling(on_test[:, mine] + intercepts),
                    None if on_train is None else machine._telling(on_train[:, mine] + intercepts),
                    functions.status,
                    functions.seconds,
                )
            )


def _accepted(machine: Any) -> bool:
    """Whether a machine takes its own parameters; if not, a fit of its own will say why."""
    try:
        machine._untold()._check_parameters()
    except (ValueError, TypeError):
        return False
    return True


class _Source:
    """Some objects, read and encoded once for each way of looking at them."""

    def __init__(self, objects: Any) -> None:
        self.objects = objects
        self._encoded: dict[Any, tuple[Kernel, Points]] = {}
        self._points: dict[Any, tuple[Kernel, Points] | None] = {}
        self._stored: dict[Any, dict[Statistic, Array]] = {}
        self._lock = Lock()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def settled(self, machine: Any, fold: Fold) -> Kernel | None:
        """Return a machine's kernel as a fit to the training part sees it; None if it cannot."""
        try:
            kernel, points = self._read(machine)
            if machine._mode != "matrix":
                kernel = kernel.resolve(points.take(fold.train))
                check_definite(kernel, machine._needs, machine.strict, type(machine).__name__)
        except (ValueError, TypeError, ArithmeticError):
            return None
        self._points[kernel] = kernel, points
        return kernel

    def _read(self, machine: Any) -> tuple[Kernel, Points]:
        """Return a machine's kernel, not yet settled, and the objects as it sees them."""
        look = machine._kernel_parameters()
        if look not in self._encoded:
            twin = machine._untold()
            X = twin._read_training(self.objects, None)
            if machine._mode == "matrix":
                matrix = Precomputed(X)
                self._encoded[look] = matrix, matrix.encode(np.arange(len(X)))
            else:
                self._encoded[look] = twin._encode(X)
        self._count = len(self._encoded[look][1])
        return self._encoded[look]

    def fill(self, kernel: Kernel, K: Array, threads: int) -> bool:
        """Write the matrix of a kernel; return False where it cannot be used."""
        known = self._points[kernel]
        assert known is not None
        _, points = known
        stored = self._stored.setdefault(frozenset(kernel.encoders()), {})
        pairs = Pairs(points, None, stored, np.float64)
        try:
            with self._lock:
                self._store(kernel, pairs, stored, threads)
            _fill(kernel, pairs, K, threads)
        except NumericalOverflow:
            return False
        return bool(np.abs(np.diagonal(K)).max() <= _LARGEST_VALUE)

    def _store(
        self, kernel: Kernel, pairs: Pairs, stored: dict[Statistic, Array], threads: int
    ) -> None:
        """Keep statistics for the next kernel, while there is memory."""
        for statistic in dict.fromkeys(kernel.statistics()):
            there = _memory.available_bytes()
            if statistic in stored or (there is not None and there < 32 * len(self) ** 2):
                continue

            def formula(values: Values, statistic: Statistic = statistic) -> Array:
                return values[statistic]

            stored[statistic] = Evaluator(kernel, pairs, formula, threads).dense()


def _fill(kernel: Kernel, pairs: Pairs, K: Array, threads: int) -> None:
    """Write the matrix of a kernel: in strips of whole rows where its statistics are there."""
    evaluator = Evaluator(kernel, pairs, threads=threads)
    everything = slice(0, len(K))
    if not set(kernel.statistics()) <= set(pairs.stored):
        evaluator.fill(K, everything, everything)
        return

    def task(start: int) -> None:
        strip = slice(start, min(start + _STRIP, len(K)))
        K[strip] = evaluator.values(strip, everything)

    _parallel.run(task, range(0, len(K), _STRIP), threads)


def _matrices_that_fit(count: int) -> int:
    """Return how many matrices of so many rows fit a quarter of the memory that is free."""
    there = _memory.available_bytes()
    return 1 if there is None else there // (32 * count**2)


def fits_memory(count: int, threads: int | None = None) -> bool:
    """Whether the matrices of a search over so many rows fit half of the memory that is free."""
    there = _memory.available_bytes()
    needed = (8 + 12 * _parallel.thread_count(threads)) * count**2
    return there is None or 2 * needed < there


def _values(K: Array, rows: IntArray, columns: IntArray, coefficients: Array) -> Array:
    """Return K[rows, columns] @ coefficients; whole rows are copied faster than parts of them."""
    everywhere = np.zeros((len(K), coefficients.shape[1]))
    everywhere[columns] = coefficients
    product: Array = K[rows] @ everywhere
    return product


def _runs(posed: list[Any]) -> Iterable[list[Any]]:
    """Cut a chain where machines pose problems about different rows, or stop at another tol."""
    group: list[Any] = []
    for entry in posed:
        if group and not _alike(group[-1], entry):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def _alike(a: Any, b: Any) -> bool:
    same = len(a[2]) == len(b[2]) and a[1].tol == b[1].tol
    return same and all(
        one[0] is other[0] or np.array_equal(one[0], other[0])
        for one, other in zip(a[2], b[2], strict=True)
    )


def _middle_first(items: Sequence[Any]) -> list[Any]:
    """Order a grid from its middle outwards: the best point is rarely at an end."""
    middle = (len(items) - 1) / 2
    return [items[i] for i in sorted(range(len(items)), key=lambda i: (abs(i - middle), i))]

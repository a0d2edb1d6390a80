"""How each machine of the registry is searched when it is asked for by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from mercer.estimators import registry
from mercer.estimators.automatic.table_coding import are_aligned
from mercer.estimators.registry import MachineRow
from mercer.exceptions import InvalidParameter, meant, shown
from mercer.io.column_kinds import Column, Proposal
from mercer.io.tables import Table
from mercer.kernels.base import Kernel
from mercer.kernels.vectors.constant import White
from mercer.tuning.grids import Axes

MANY_ROWS = 20_000
"""Rows beyond which a kernel machine takes minutes and a linear one seconds."""
CONTEST_ROWS = 200_000
"""Rows up to which a contest takes less than a minute: 100,000 rows of 10 columns take 14 s."""
_COSTS = tuple(10.0**e for e in range(-3, 6))
"""Values of C in units of the target's spread: from next to no fit to next to no regularisation."""
_TUBE, _TOL = 0.1, 1e-3
"""scikit-learn's epsilon and tol, in units of the target's spread."""
_USUAL_SPREAD = (1e-2, 1e4)
"""Spreads of a target that the automatic values of C suit, as they grow where that helps."""

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Machine:
    """A machine of the registry, and how it is searched.

    Attributes
    ----------
    row : MachineRow
        What the registry knows: name, title, class, task, what it takes.
    settings : function
        Fixed parameters for a target of a given spread.
    grid : function or None
        A grid of parameters, besides the kernel's widths, for a target of a given spread; None is
        C in units of the spread, or what the estimator names itself.
    automatic : bool
        Whether the automatic grid of the estimator is right for targets of usual size.
    prior : function
        What the machine makes of the kernel.
    learns : bool
        Whether it learns the widths of its kernel by itself, so that nothing is left to search.
    most_rows : int
        Rows beyond which it takes too long.
    contends : bool
        Whether it chooses everything by itself, in a contest of its own.
    linear : bool
        Whether a machine without a kernel is a weight for each column.
    """

    row: MachineRow
    settings: Callable[[float], Settings] = lambda spread: {}
    grid: Callable[[float], Settings] | None = None
    automatic: bool = True
    prior: Callable[[Kernel | None], Kernel | None] = lambda kernel: kernel
    learns: bool = False
    most_rows: float = math.inf
    contends: bool = False
    linear: bool = True

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.row.name

    @property
    def title(self) -> str:
        """What it is called in words."""
        return self.row.title

    @property
    def task(self) -> str:
        """Whether it learns classes or a number."""
        return self.row.task

    @property
    def takes_kernel(self) -> bool:
        """Whether a kernel can be chosen; the others take numbers, or numbers and categories."""
        return self.row.takes == "objects"

    @property
    def without_kernel(self) -> str:
        """Why no kernel is needed, in words, where it takes none."""
        form = "A weight for each column" if self.linear else f"{_NEURONS} neurons in one layer"
        return f"{form}; no kernel is needed."

    @property
    def plain_kernel(self) -> str:
        """The kernel that a machine which takes none amounts to, as text."""
        return "linear()" if self.linear else "none"

    def refused(self, table: Table) -> list[str]:
        """Return the columns of a table that it cannot take."""
        if self.takes_kernel:
            return []
        if self.row.takes != "table":
            return [str(c.name) for c in table.columns if c.used and c.kind != "number"]
        if table.is_sparse:
            return ["sparse"]
        return [str(c.name) for c in table.columns if c.used and not is_simple(table, c)]

    def make(self, kernel: Kernel | None, spread: float, random_state: int) -> Any:
        """Return the machine, not fitted."""
        given = dict(self.settings(spread))
        if self.takes_kernel:
            given["kernel"] = self.prior(kernel)
        machine = self.row.estimator(**given)
        known = machine.get_params(deep=False)
        return machine.set_params(random_state=random_state) if "random_state" in known else machine

    def search(self, machine: BaseEstimator, X: object, spread: float) -> str | Settings:
        """Return the grid to search: automatic, or with the widths that the kernel leaves open."""
        if self.learns:
            return {}
        if self.grid is not None and not self.takes_kernel and not self.automatic:
            return dict(self.grid(spread))
        kernel = machine.get_params(deep=False).get("kernel")
        open_widths = set() if kernel is None else set(Proposal.of(kernel, ()).tunable)
        axes = Axes.of(machine, X).values
        widths = {name: values for name, values in axes.items() if name.startswith("kernel__")}
        low, high = _USUAL_SPREAD
        if self.automatic and set(widths) == open_widths and low <= spread <= high:
            return "auto"
        wanted = {name: values for name, values in widths.items() if name in open_widths}
        if self.grid is not None:
            return {**self.grid(spread), **wanted}
        own = {name: values for name, values in axes.items() if name not in widths}
        if "C" in own:
            own["C"] = [c * spread for c in _COSTS]
        return {**own, **wanted}


def _in_units(spread: float) -> Settings:
    return {"tol": _TOL * spread}


def _tube(spread: float) -> Settings:
    return {"epsilon": _TUBE * spread, **_in_units(spread)}


def _penalties(spread: float) -> Settings:
    # Twice the target needs twice the penalty for the same zeros.
    return {"alpha": [10.0**e * spread for e in range(-4, 3)]}


_SHRINKAGES = (0.0, 0.01, 0.1, 0.3, 0.6, 0.9)
"""Shares of a multiple of the identity in the covariance: from none to nearly all."""
_NEURONS = 32
"""Of the one hidden layer: enough for tables of tens of columns; the penalty does the rest."""
_NETWORK_STEPS = 500
"""Most steps of a fit of a network; small tables take fewer."""


def _network(spread: float) -> Settings:
    return {
        "hidden_layer_sizes": (_NEURONS,),
        "activation": "tanh",
        "solver": "lbfgs",
        "max_iter": _NETWORK_STEPS,
    }


def _decays(spread: float) -> Settings:
    # Weights after the hidden layer grow with the target, those before it do not.
    return {"alpha": [10.0**e * spread for e in range(-2, 3)]}


_NETWORK: Mapping[str, Any] = {
    "settings": _network,
    "grid": _decays,
    "automatic": False,
    "linear": False,
}


_SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "SVR": {"settings": _tube},
    "NuSVR": {
        "settings": _in_units,
        "grid": lambda s: {"nu": (0.3, 0.5, 0.7), "C": [c * s for c in _COSTS[2:7]]},
        "automatic": False,
    },
    "LinearSVR": {"settings": _tube},
    "Lasso": {"grid": _penalties},
    "ElasticNet": {"grid": _penalties},
    "KernelRidge": {"settings": lambda s: {"fit_intercept": True}},
    "GaussianProcessRegressor": {
        "settings": lambda s: {"normalize_y": True, "alpha": 1e-8},
        "prior": lambda kernel: 1.0 * kernel + White(0.1),
        "learns": True,
        "most_rows": 2_500,
    },
    "LinearDiscriminantAnalysis": {
        "settings": lambda s: {"solver": "lsqr"},
        "grid": lambda s: {"shrinkage": _SHRINKAGES},
        "automatic": False,
    },
    "MLPClassifier": _NETWORK,
    "MLPRegressor": _NETWORK,
    "AutoClassifier": {"contends": True},
    "AutoRegressor": {"contends": True},
}
"""What is not as usual, by class."""

MACHINES = tuple(
    Machine(row, **_SEARCHES.get(row.class_name, {})) for row in registry.ROWS if row.command_line
)
"""The first machine of a task is its usual one, the first with a kernel that for other columns."""


def task_of(table: Table) -> str:
    """Return the kind of machine that a table asks for."""
    return "number" if table.task == "number" else "classes"


def find(name: str, task: str) -> Machine:
    """Return the machine of a name for a task."""
    fitting = {row.name: row for row in MACHINES if row.task == task}
    if name in fitting:
        return fitting[name]
    others = {row.name for row in MACHINES} - set(fitting)
    cause = f"There is no machine {name!r}"
    if name in others:
        cause = f"The machine {name!r} is not for this target, which holds {_words(task)}"
    raise InvalidParameter(f"{cause}.{meant(name, fitting)} There are {', '.join(fitting)}.")


def is_simple(table: Table, column: Column) -> bool:
    """Whether a column holds numbers, categories, short texts or sequences that are aligned."""
    if column.kind != "sequence":
        return column.kind in ("number", "category", "phrase")
    return are_aligned(table.frame[column.name].to_pylist())


def choose(table: Table, name: str | None, kernel: object) -> tuple[Machine, str]:
    """Return the machine for a table, and why it is that one."""
    task = task_of(table)
    if name is not None:
        machine = find(name, task)
        if not machine.takes_kernel:
            _check_columns(machine, table, kernel)
        if len(table) > machine.most_rows:
            raise InvalidParameter(
                f"The machine {name!r} takes too long for the {len(table):,} rows of "
                f"{table.source}: {machine.most_rows:,} are the most. Choose another machine."
            )
        return machine, f"{machine.title}, as asked for"
    fitting = [row for row in MACHINES if row.task == task]
    with_kernel = next(row for row in fitting if row.takes_kernel)
    if kernel is not None:
        return with_kernel, f"{with_kernel.title}, the usual one for {_words(task)} with a kernel"
    plain = next(row for row in fitting if row.row.takes == "numbers")
    contends = not fitting[0].refused(table)
    most = CONTEST_ROWS if contends else MANY_ROWS
    if len(table) > most and not plain.refused(table):
        return plain, (
            f"{plain.title}: {len(table):,} rows of numbers are more than {most:,}, and it learns "
            f"from them in seconds; --machine {fitting[0].name if contends else with_kernel.name} "
            "takes longer and may do better"
        )
    if contends:
        return fitting[0], f"{fitting[0].title}, the usual one for {_words(task)} from a table"
    return with_kernel, f"{with_kernel.title}, the usual one for {_words(task)} from such columns"


def _check_columns(machine: Machine, table: Table, kernel: object) -> None:
    if kernel is not None:
        own = "chooses its kernels itself" if machine.contends else "has no kernel"
        raise InvalidParameter(
            f"The machine {machine.name!r} {own}. Leave the kernel away, or choose another machine."
        )
    others = machine.refused(table)
    if table.is_sparse and others:
        raise InvalidParameter(
            f"The machine {machine.name!r} does not take the sparse columns of {table.source}. "
            "Choose another machine."
        )
    if others:
        what = "numbers and categories" if machine.contends else "numbers"
        raise InvalidParameter(
            f"The machine {machine.name!r} takes {what} only, and column {shown(others[0])} of "
            f"{table.source} holds none. Choose a machine with a kernel."
        )


def _words(task: str) -> str:
    return "numbers" if task == "number" else "classes"


def names() -> Iterable[str]:
    """Return the names of all machines, each once."""
    return dict.fromkeys(row.name for row in MACHINES)

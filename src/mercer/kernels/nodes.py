"""What kernels that are made of other kernels have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mercer._typing import Array, BoolArray
from mercer.exceptions import InvalidParameter, NoExplanation
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.coalitions import WHOLE, Game
from mercer.kernels.encoders import Encoder
from mercer.kernels.evaluation import Values
from mercer.kernels.points import Points
from mercer.kernels.statistics import Statistic


class Node(Kernel):
    """A kernel made of other kernels, its ``children``."""

    children: tuple[str, ...] = ()
    chain_is_product = False
    """Whether ``chain`` multiplies by finite numbers that do not depend on the parameter."""

    def check_parameters(self) -> None:
        for name in self.children:
            child = getattr(self, name)
            if not is_kernel(child):
                raise InvalidParameter(
                    f"{type(self).__name__}: {name}={child!r} has to be a kernel."
                )

    def parts(self) -> list[Kernel]:
        """Return the kernels that this one is made of."""
        return [getattr(self, name) for name in self.children]

    def encoders(self) -> dict[Encoder, str]:
        return {enc: owner for part in self.parts() for enc, owner in part.encoders().items()}

    def statistics(self) -> Sequence[Statistic]:
        return [statistic for part in self.parts() for statistic in part.statistics()]

    @property
    def bounded(self) -> bool:
        return all(part.bounded for part in self.parts())

    @property
    def has_features(self) -> bool:
        return all(part.has_features for part in self.parts())

    def has_gaps(self, points: Points) -> BoolArray:
        found = super().has_gaps(points)
        for part in self.parts():
            found |= part.has_gaps(points)
        return found

    def games(self, a: Points, b: Points) -> list[Game]:
        players = {p for part in self.parts() for game in part.games(a, b) for p in game.players}
        if len(players) > 1:
            raise NoExplanation(
                f"{self} is neither a sum nor a product of kernels that are sums or products over "
                "columns, so there is no exact share of a column. Permutation importance works "
                "for every machine: mercer.permutation_importance."
            )
        return [self.one_game(a, b).renamed({WHOLE: next(iter(players), WHOLE)})]

    def free_parameters(self) -> dict[str, float]:
        return {
            f"{child}__{name}": value
            for child in self.children
            for name, value in getattr(self, child).free_parameters().items()
        }

    def parameter_limits(self, points: Points) -> dict[str, float]:
        return {
            f"{child}__{name}": limit
            for child in self.children
            for name, limit in getattr(self, child).parameter_limits(points).items()
        }

    def with_parameters(self, values: dict[str, float]) -> Any:
        inner: dict[str, dict[str, float]] = {}
        own: dict[str, Any] = {}
        for key, value in values.items():
            child, _, rest = key.partition("__")
            if rest:
                inner.setdefault(child, {})[rest] = value
            else:
                own[key] = value
        for child, changes in inner.items():
            own[child] = getattr(self, child).with_parameters(changes)
        return self.replace(**own)

    def gradient(self, values: Values, name: str) -> Array:
        child, _, rest = name.partition("__")
        return self.chain(values, child, getattr(self, child).gradient(values, rest))

    def slopes(
        self, values: Values, names: Sequence[str], factor: Any = 1.0
    ) -> Iterator[tuple[str, Array]]:
        if not self.chain_is_product:
            yield from super().slopes(values, names, factor)
            return
        inner: dict[str, list[str]] = {}
        for name in names:
            child, _, rest = name.partition("__")
            if child in self.children:
                inner.setdefault(child, []).append(rest)
            else:
                yield name, self.gradient(values, name) * factor
        for child, parts in inner.items():
            # What the chain rule multiplies with is the same for all parameters of a child.
            passed = self.chain(values, child, factor)
            for name, slope in getattr(self, child).slopes(values, parts, passed):
                yield f"{child}__{name}", slope

    def chain(self, values: Values, child: str, inner: Array) -> Array:
        """Return the derivative of this kernel, given that of one of its children."""
        raise NotImplementedError


class Wrapper(Node):
    """A kernel made of one other kernel."""

    children = ("kernel",)

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        super().__init__()

    def feature_width(self, points: Points) -> float:
        return self.kernel.feature_width(points)


class Pair(Node):
    """A kernel made of two others."""

    children = ("left", "right")
    chain_is_product = True

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left, self.right = left, right
        super().__init__()


def short_number(value: float) -> str:
    """Write a number as short as it can be read back."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))


def bracketed(kernel: Kernel, strength: int) -> str:
    """Write an operand, in brackets if it binds less than the operator around it."""
    return f"({kernel!r})" if kernel.binds < strength else repr(kernel)

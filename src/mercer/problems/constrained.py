"""Problems with constraints: Lagrangian, dual function, Slater's condition and KKT conditions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.convexity import ROUNDING, SlaterPoint, Violation
from mercer.problems.functions import (
    Function,
    GivenFunction,
    QuadraticForm,
    as_function,
    as_point,
    jacobian_of,
    values_of,
    values_or_nan,
)

Functions: TypeAlias = Function | GivenFunction | Sequence[Function | GivenFunction]
"""One constraint, or several."""

_ACTIVE = 1e-6
"""Constraints this near to their bound, relative to the largest, count as active."""
_SLOPE = 1e-4
"""The slope of L, relative to its value, up to which a minimisation has arrived: differences of
functions without a gradient, and rounding, leave up to a hundredth of that."""
_LEAST_SLACK = -1.0
"""Room in a constraint beyond which more is not looked for: any point with room will do."""


class ConstrainedProblem:
    r"""A problem with constraints, min f₀(x) subject to fᵢ(x) ≤ 0 and hⱼ(x) = 0.

    Lagrangian: L(x, λ, ν) = f₀(x) + Σ λᵢ fᵢ(x) + Σ νⱼ hⱼ(x)

    dual function: g(λ, ν) = min over x of L(x, λ, ν), a lower bound for every λ ≥ 0

    Parameters
    ----------
    objective : Function or function
        f₀. :class:`QuadraticFunction` and :class:`Affine` have an exact dual function.
    inequalities, equalities : function or list of functions
        fᵢ and hⱼ; each may have several values, such as ``Affine(A, b)`` for Ax ≤ b. Multipliers
        are in the order of these values.
    size : int, optional
        The number of variables; needed where no function tells it.
    convex : bool
        Whether f₀ and all fᵢ are convex and all hⱼ affine, on your word. Of :class:`Affine` and
        :class:`QuadraticFunction` it is known; of other functions it is not, and then a value that
        a minimisation of L ends with bounds nothing.
    name : str
        What certificates and messages call it.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optimize import Affine, ConstrainedProblem, QuadraticFunction, solve
    >>> square = QuadraticFunction([[2.0]])  # x²
    >>> problem = ConstrainedProblem(square, Affine([[-1.0]], [-1.0]))  # x ≥ 1
    >>> problem.dual([2.0]), solve(problem, [3.0]).x.round(6)  # g(λ) = λ − λ²/4
    (1.0, array([1.]))
    """

    def __init__(
        self,
        objective: Function | GivenFunction,
        inequalities: Functions = (),
        equalities: Functions = (),
        *,
        size: int | None = None,
        convex: bool = False,
        name: str = "a problem with constraints",
    ) -> None:
        self.objective = as_function(objective)
        self.inequalities = _functions(inequalities)
        self.equalities = _functions(equalities)
        self.name = name
        self.size = size if size is not None else self._size()
        self._called_convex = convex
        if convex and self._known_convexity is False:
            raise InvalidInput(
                "convex=True, but a quadratic function of the problem has negative curvature, or "
                "an equality is quadratic. Leave convex=True out."
            )

    @property
    def convex(self) -> bool | None:
        """Whether the problem is convex: f₀ and all fᵢ convex, all hⱼ affine; None if unknown."""
        return True if self._called_convex else self._known_convexity

    @property
    def _known_convexity(self) -> bool | None:
        """What the functions themselves say."""
        known = [f.convex for f in (self.objective, *self.inequalities)]
        known += [None if h.convex is None else h.affine for h in self.equalities]
        return False if False in known else None if None in known else True

    # ---- values --------------------------------------------------------------------------------

    def value(self, x: ArrayLike) -> float:
        """Return f₀(x)."""
        return self.objective(self._point(x))

    def jacobians(self, x: ArrayLike) -> tuple[Array, Array]:
        """Return the gradients of all fᵢ and of all hⱼ at x, as rows."""
        x = self._point(x)
        return jacobian_of(self.inequalities, x), jacobian_of(self.equalities, x)

    def lagrangian(self, x: ArrayLike, lambda_: ArrayLike = (), nu: ArrayLike = ()) -> float:
        """Return L(x, λ, ν)."""
        x = self._point(x)
        lam, nu = self._multipliers(x, lambda_, nu)
        return float(self.objective(x) + lam @ self.slacks(x) + nu @ self.residuals(x))

    def slacks(self, x: ArrayLike) -> Array:
        """Return all fᵢ(x): at most 0 where x is feasible."""
        return values_of(self.inequalities, self._point(x))

    def residuals(self, x: ArrayLike) -> Array:
        """Return all hⱼ(x)."""
        return values_of(self.equalities, self._point(x))

    # ---- the dual problem ----------------------------------------------------------------------

    def dual(
        self, lambda_: ArrayLike = (), nu: ArrayLike = (), start: ArrayLike | None = None
    ) -> float:
        """Return the best bound that is known of g(λ, ν): −inf where there is none.

        Exact for quadratic and affine functions, also where these are not convex: −inf where the
        Lagrangian has no lower bound or a λ is negative. Otherwise L is minimised numerically from
        ``start``, which gives g(λ, ν) where L is known to be convex. Elsewhere the end of a descent
        may be a local minimum, which bounds nothing, and the answer is −inf.
        """
        x = np.zeros(self.size) if start is None else self._point(start)
        lam, nu = self._multipliers(x, lambda_, nu)
        if lam.size and lam.min() < 0:
            return -math.inf
        form = self._form(x, lam, nu)
        if form is not None:
            return _least(form)
        if not self._convex_lagrangian(x, lam, nu):
            return -math.inf
        return self._least_numerically(x, lam, nu)

    def multipliers(self, x: ArrayLike) -> tuple[Array, Array]:
        """Return the λ ≥ 0 and ν that come nearest to the KKT conditions at x.

        The least ‖∇f₀ + Σ λᵢ∇fᵢ + Σ νⱼ∇hⱼ‖ with λᵢ = 0 wherever fᵢ(x) < 0.
        """
        x = self._point(x)
        slack = self.slacks(x)
        active = np.flatnonzero(slack >= -_ACTIVE * (1 + float(np.abs(slack).max(initial=0.0))))
        J, A = self.jacobians(x)
        columns = np.vstack([J[active], A]).T
        lam, nu = np.zeros(len(slack)), np.zeros(len(A))
        if columns.shape[1]:
            low = np.r_[np.zeros(len(active)), np.full(len(A), -np.inf)]
            found = optimize.lsq_linear(
                columns, -self.objective.gradient(x), (low, np.inf), method="bvls", tol=1e-14
            )
            lam[active], nu = np.maximum(found.x[: len(active)], 0.0), found.x[len(active) :]
        return lam, np.asarray(nu)

    def kkt(
        self,
        x: ArrayLike,
        lambda_: ArrayLike | None = None,
        nu: ArrayLike | None = None,
        **cost: Any,
    ) -> Certificate:
        """Judge an answer: the residual of each of the four KKT conditions, and the duality gap.

        Parameters
        ----------
        x : array
        lambda_, nu : arrays, optional
            The multipliers; the nearest ones (:meth:`multipliers`) where neither is given.

        Returns
        -------
        certificate : Certificate
            ``dual`` is that of :meth:`dual`: −inf, and so no bound, where L is not known to be
            convex. ``stationarity`` is the largest entry of ∇L, ``primal_feasibility`` the largest
            fᵢ and |hⱼ|, ``dual_feasibility`` the largest −λᵢ, ``complementarity`` the largest
            |λᵢfᵢ|.
        """
        x = self._point(x)
        if lambda_ is None and nu is None:
            lambda_, nu = self.multipliers(x)
        lam, nu = self._multipliers(x, () if lambda_ is None else lambda_, () if nu is None else nu)
        f, h = self.slacks(x), self.residuals(x)
        J, A = self.jacobians(x)
        slope = self.objective.gradient(x) + lam @ J + nu @ A
        feasible = np.maximum(lam, 0.0)
        return Certificate(
            problem=self.name,
            primal=self.objective(x),
            dual=self.dual(feasible, nu, x),
            stationarity=float(np.abs(slope).max(initial=0.0)),
            primal_feasibility=max(
                float(f.max(initial=0.0)), float(np.abs(h).max(initial=0.0)), 0.0
            ),
            dual_feasibility=max(float((-lam).max(initial=0.0)), 0.0),
            complementarity=float(np.abs(lam * f).max(initial=0.0)),
            **{"status": "", **cost},
        )

    # ---- conditions ----------------------------------------------------------------------------

    def slater_point(self, start: ArrayLike | None = None) -> SlaterPoint:
        """Look for a point with fᵢ(x) < 0 for all constraints that are not affine.

        Affine constraints need not be strict, though the point keeps away from them where it can.
        It minimises s subject to fᵢ(x) ≤ s, s ≥ −1: as a linear program where all are affine, else
        numerically from ``start``.
        """
        bent = [f for f in self.inequalities if not f.affine]
        if bent or any(not h.affine for h in self.equalities):
            x = self._most_room(np.zeros(self.size) if start is None else self._point(start), bent)
        else:
            x = self._inner_point()
        slack = float(values_of(bent, x).max()) if bent else -math.inf
        flat = [f for f in self.inequalities if f.affine]
        over = max(
            float(values_of(flat, x).max(initial=0.0)),
            float(np.abs(self.residuals(x)).max(initial=0.0)),
        )
        return SlaterPoint(x, slack, over)

    def nonconvexity(
        self, *, low: ArrayLike = -1.0, high: ArrayLike = 1.0, pairs: int = 1000, seed: int = 0
    ) -> Violation | None:
        """Look for two points that show that the problem is not convex; None if none were found.

        Random pairs of points between ``low`` and ``high`` and their chords are tried for f₀ and
        each fᵢ. An equality hⱼ has to be affine, so both hⱼ and −hⱼ are tried. The worst pair is
        returned. None is no proof of convexity.
        """
        random = np.random.default_rng(seed)
        low, high = (np.broadcast_to(np.asarray(end, float), self.size) for end in (low, high))
        chords = (
            (random.uniform(low, high), random.uniform(low, high), float(random.uniform(0.1, 0.9)))
            for _ in range(pairs)
        )
        return self.worst_chord(chords)

    def worst_chord(self, chords: Iterable[tuple[Array, Array, float]]) -> Violation | None:
        """Return the chord (x, y, θ) that the problem's functions rise above most, if any does."""
        bending = [("f0", self.objective, 1.0)]
        bending += [(f"f{i + 1}", f, 1.0) for i, f in enumerate(self.inequalities)]
        for j, h in enumerate(self.equalities):
            bending += [(f"h{j + 1}", h, 1.0), (f"-h{j + 1}", h, -1.0)]
        bending = [row for row in bending if not row[1].affine]
        worst: Violation | None = None
        for x, y, theta in chords:
            middle = theta * x + (1 - theta) * y
            for name, f, sign in bending:
                fx, fy, fm = (sign * values_or_nan(f, point) for point in (x, y, middle))
                excess = fm - (theta * fx + (1 - theta) * fy)
                size = ROUNDING * (1 + np.abs(fx) + np.abs(fy))
                excess = np.where(np.isfinite(excess), excess - size, -np.inf)
                k = int(np.argmax(excess))
                if excess[k] > (worst.excess if worst is not None else 0.0):
                    label = f"{name}[{k}]" if len(excess) > 1 else name
                    worst = Violation(label, x, y, theta, float(excess[k]))
        return worst

    # ---- inside --------------------------------------------------------------------------------

    def _size(self) -> int:
        for f in (self.objective, *self.inequalities, *self.equalities):
            if f.size is not None:
                return f.size
        raise InvalidInput("No function tells how many variables there are; give size=….")

    def _point(self, x: ArrayLike) -> Array:
        point = as_point(x)
        if len(point) != self.size:
            raise InvalidInput(f"x has {len(point)} entries and the problem {self.size} variables.")
        return point

    def _multipliers(self, x: Array, lambda_: ArrayLike, nu: ArrayLike) -> tuple[Array, Array]:
        result = []
        for given, functions, what in (
            (lambda_, self.inequalities, "inequalities"),
            (nu, self.equalities, "equalities"),
        ):
            count = len(values_of(functions, x))
            values = np.atleast_1d(np.asarray(given, np.float64)).ravel()
            if len(values) != count:
                raise InvalidInput(f"There are {len(values)} multipliers for {count} {what}.")
            result.append(values)
        return result[0], result[1]

    def _weighted(self, x: Array, lam: Array, nu: Array) -> list[tuple[Function, Array]]:
        """Return all functions with their weights in the Lagrangian."""
        parts: list[tuple[Function, Array]] = [(self.objective, np.ones(1))]
        for functions, weights in ((self.inequalities, lam), (self.equalities, nu)):
            ends = np.cumsum([len(f.values(x)) for f in functions])
            parts += zip(functions, np.split(weights, ends[:-1]), strict=True) if functions else []
        return parts

    def _form(self, x: Array, lam: Array, nu: Array) -> QuadraticForm | None:
        """Return the Lagrangian as a quadratic function of x, if it is one."""
        forms = [f.form(weights, self.size) for f, weights in self._weighted(x, lam, nu)]
        known = [form for form in forms if form is not None]
        return sum(known[1:], known[0]) if len(known) == len(forms) else None

    def _convex_lagrangian(self, x: Array, lam: Array, nu: Array) -> bool:
        """Tell whether L is known to be convex in x for these multipliers."""
        if self.convex:
            return True
        bent = QuadraticForm(np.zeros((self.size, self.size)), np.zeros(self.size), 0.0)
        for f, weights in self._weighted(x, lam, nu):
            form = f.form(weights, self.size)
            if form is None and weights.any():
                return False
            bent = bent if form is None else bent + form
        return bent.convex

    def _least_numerically(self, x: Array, lam: Array, nu: Array) -> float:
        functions = (self.objective, *self.inequalities, *self.equalities)
        weights = np.r_[1.0, lam, nu]

        def value(z: Array) -> float:
            with np.errstate(all="ignore"):
                result = float(weights @ values_of(functions, z))
            return result if not math.isnan(result) else math.inf

        def slope(z: Array) -> Array:
            return np.asarray(weights @ jacobian_of(functions, z))

        start = value(x)
        found = optimize.minimize(value, x, jac=slope, method="BFGS", options={"gtol": 1e-10})
        least = min(float(found.fun), start)
        size = 1 + abs(start)
        # Where it did not arrive the value is too high, and no bound.
        arrived = np.abs(slope(found.x)).max(initial=0.0) <= _SLOPE * (1 + abs(least))
        return least if arrived and least >= -1e12 * size else -math.inf

    def _most_room(self, x: Array, bent: Sequence[Function]) -> Array:
        """Minimise s subject to fᵢ(x) ≤ s, over x and s."""
        flat = [f for f in self.inequalities if f.affine]
        start = np.r_[x, float(values_of(bent, x).max(initial=0.0))]

        def room(z: Array) -> Array:
            return np.asarray(np.r_[z[-1] - values_of(bent, z[:-1]), -values_of(flat, z[:-1])])

        def room_slope(z: Array) -> Array:
            J = [jacobian_of(part, z[:-1]) for part in (bent, flat)]
            last = np.r_[np.ones(len(J[0])), np.zeros(len(J[1]))]
            return np.asarray(np.column_stack([-np.vstack(J), last]), np.float64)

        constraints: list[dict[str, Any]] = [{"type": "ineq", "fun": room, "jac": room_slope}]
        if self.equalities:
            constraints.append({"type": "eq", "fun": lambda z: self.residuals(z[:-1])})
        found = optimize.minimize(
            lambda z: z[-1],
            start,
            jac=lambda z: np.r_[np.zeros(self.size), 1.0],
            method="SLSQP",
            bounds=[(None, None)] * self.size + [(_LEAST_SLACK, None)],
            constraints=constraints,
            options={"maxiter": 500, "ftol": 1e-12},
        )
        return np.asarray(found.x[:-1])

    def _inner_point(self) -> Array:
        """Return a point of affine constraints, as far from the inequalities as 1 if it can be."""
        x = np.zeros(self.size)
        A, B = self.jacobians(x)
        b, d = -self.slacks(x), -self.residuals(x)
        found = optimize.linprog(
            np.r_[x, -1.0],
            A_ub=np.column_stack([A, np.linalg.norm(A, axis=1)]) if len(A) else None,
            b_ub=b if len(A) else None,
            A_eq=np.column_stack([B, np.zeros(len(B))]) if len(B) else None,
            b_eq=d if len(B) else None,
            bounds=[(None, None)] * self.size + [(None, 1.0)],
            method="highs",
        )
        return x if found.x is None else np.asarray(found.x[:-1])


def _functions(given: Functions) -> tuple[Function, ...]:
    many = given if isinstance(given, Sequence) else (given,)
    return tuple(as_function(f) for f in many)


def _least(form: QuadraticForm) -> float:
    """Return the least value of a quadratic function, −inf where there is none."""
    values, vectors = linalg.eigh(form.P)
    size = float(np.abs(values).max(initial=0.0))
    slopes = vectors.T @ form.q
    if size > 0 and values[0] < -ROUNDING * size:
        return -math.inf
    flat = values <= 1e-12 * size
    if np.abs(slopes[flat]).max(initial=0.0) > ROUNDING * (1 + float(np.abs(form.q).max())):
        return -math.inf
    bent = ~flat
    return form.r - float((slopes[bent] ** 2 / values[bent]).sum()) / 2

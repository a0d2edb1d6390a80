"""Sums over all common walks of two graphs."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array

Codes = np.ndarray[Any, np.dtype[np.uint64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

CONVERGED, TOO_SLOW = 0, 1


@jit
def spectral_sums(
    a_starts: Integers,
    a_values: Array,
    a_masses: Array,
    b_starts: Integers,
    b_values: Array,
    b_masses: Array,
    decay: float,
    out: Array,
) -> None:
    """Write Σᵢⱼ mᵢ wⱼ / (1 − λ μᵢ νⱼ) over the eigenvalues μ, ν of each pair of graphs.

    The innermost loop runs over the eigenvalues of all graphs of one side, and vectorises.
    """
    sums = np.empty(b_values.size)
    for x in range(a_starts.size - 1):
        sums[:] = 0.0
        for i in range(a_starts[x], a_starts[x + 1]):
            step = decay * a_values[i]
            mass = a_masses[i]
            for j in range(b_values.size):
                sums[j] += mass / (1.0 - step * b_values[j])
        for z in range(b_starts.size - 1):
            total = 0.0
            for j in range(b_starts[z], b_starts[z + 1]):
                total += sums[j] * b_masses[j]
            out[x, z] = total


@jit
def spectral_slopes(
    a_starts: Integers,
    a_values: Array,
    a_masses: Array,
    b_starts: Integers,
    b_values: Array,
    b_masses: Array,
    decay: float,
    out: Array,
) -> None:
    """Write Σᵢⱼ mᵢ wⱼ λ μᵢ νⱼ / (1 − λ μᵢ νⱼ)², λ times the derivative of the spectral sums."""
    sums = np.empty(b_values.size)
    for x in range(a_starts.size - 1):
        sums[:] = 0.0
        for i in range(a_starts[x], a_starts[x + 1]):
            step = decay * a_values[i]
            mass = a_masses[i]
            for j in range(b_values.size):
                q = step * b_values[j]
                sums[j] += mass * q / ((1.0 - q) * (1.0 - q))
        for z in range(b_starts.size - 1):
            total = 0.0
            for j in range(b_starts[z], b_starts[z + 1]):
                total += sums[j] * b_masses[j]
            out[x, z] = total


@jit
def walk_counts(
    starts: Integers,
    arc_starts: Integers,
    targets: Integers,
    weights: Array,
    step: float,
    out: Array,
) -> None:
    """Write stepᵏ 1ᵀAᵏ1 of each graph (rows) for every length k of walks (columns)."""
    for g in range(starts.size - 1):
        first = starts[g]
        n = starts[g + 1] - first
        x, y = np.ones(n), np.empty(n)
        for k in range(out.shape[1]):
            total = 0.0
            for i in range(n):
                total += x[i]
            out[g, k] = total
            for i in range(n):
                reached = 0.0
                for p in range(arc_starts[first + i], arc_starts[first + i + 1]):
                    reached += weights[p] * x[targets[p]]
                y[i] = step * reached
            x, y = y, x


@jit
def growth(
    starts: Integers,
    arc_starts: Integers,
    targets: Integers,
    weights: Array,
    steps: int,
    rates: Array,
    excess: Array,
) -> None:
    """Write R and C of each graph such that no node has more than C·Rᵏ walks of any length k.

    R is the root of the largest number of walks of ``steps`` steps that begin in one node: an
    upper bound of the spectral radius, for a matrix ≥ 0.
    """
    peaks = np.empty(steps + 1)
    for g in range(starts.size - 1):
        first = starts[g]
        n = starts[g + 1] - first
        x, y = np.ones(n), np.empty(n)
        peaks[0] = 1.0
        for k in range(1, steps + 1):
            peaks[k] = 0.0
            for i in range(n):
                reached = 0.0
                for p in range(arc_starts[first + i], arc_starts[first + i + 1]):
                    reached += weights[p] * x[targets[p]]
                y[i] = reached
                peaks[k] = max(peaks[k], reached)
            x, y = y, x
        rates[g] = peaks[steps] ** (1.0 / steps)
        excess[g] = 1.0
        if rates[g] > 0.0:
            for k in range(steps):
                excess[g] = max(excess[g], peaks[k] / rates[g] ** k)


@jit
def product_graph(
    a: Integers,
    b: Integers,
    labels: Codes,
    arc_starts: Integers,
    targets: Integers,
    arc_weights: Array,
    edge_labels: Codes,
) -> tuple[Integers, Integers, Array]:
    """Return the product of two graphs of a batch, with nodes sorted by label, as sparse rows.

    ``a`` and ``b`` are where their nodes begin and end. The nodes of the product are the pairs of
    nodes with equal labels, its arcs the pairs of arcs with equal labels. Targets are counted
    within the graph.
    """
    a_labels, b_labels = labels[a[0] : a[1]], labels[b[0] : b[1]]
    a_arc_starts, b_arc_starts = arc_starts[a[0] : a[1] + 1], arc_starts[b[0] : b[1] + 1]
    n, m = a_labels.size, b_labels.size
    low = np.zeros(n, dtype=np.int64)
    high = np.zeros(n, dtype=np.int64)
    base = np.zeros(n, dtype=np.int64)
    nodes = 0
    left, right = 0, 0
    for u in range(n):
        while left < m and b_labels[left] < a_labels[u]:
            left += 1
        right = max(right, left)
        while right < m and b_labels[right] == a_labels[u]:
            right += 1
        low[u], high[u] = left, right
        # The pair (u, v) has the number base[u] + v.
        base[u] = nodes - left
        nodes += right - left
    starts = np.zeros(nodes + 1, dtype=np.int64)
    ends = np.empty(4 * nodes + 16, dtype=np.int64)
    weights = np.empty(ends.size)
    count = 0
    for u in range(n):
        for v in range(low[u], high[u]):
            for p in range(a_arc_starts[u], a_arc_starts[u + 1]):
                t = targets[p]
                for q in range(b_arc_starts[v], b_arc_starts[v + 1]):
                    s = targets[q]
                    if low[t] <= s < high[t] and edge_labels[p] == edge_labels[q]:
                        if count == ends.size:
                            more = np.empty(2 * count, dtype=np.int64)
                            more[:count] = ends
                            ends = more
                            heavier = np.empty(2 * count)
                            heavier[:count] = weights
                            weights = heavier
                        ends[count] = base[t] + s
                        weights[count] = arc_weights[p] * arc_weights[q]
                        count += 1
            starts[base[u] + v + 1] = count
    return starts, ends[:count], weights[:count]


@jit
def apply(starts: Integers, ends: Integers, weights: Array, x: Array, out: Array) -> None:
    """Write M x for the sparse rows of a matrix M."""
    for i in range(x.size):
        total = 0.0
        for p in range(starts[i], starts[i + 1]):
            total += weights[p] * x[ends[p]]
        out[i] = total


@jit
def multiply(starts: Integers, ends: Integers, weights: Array, x: Array, out: Array) -> None:
    """Write x − M x for the sparse rows of a matrix M."""
    apply(starts, ends, weights, x, out)
    for i in range(x.size):
        out[i] = x[i] - out[i]


@jit
def conjugate_gradients(
    starts: Integers, ends: Integers, weights: Array, tolerance: float, x: Array
) -> int:
    """Write (I − M)⁻¹1 to ``x``, for a symmetric M of spectral radius below 1."""
    n = starts.size - 1
    x[:] = 0.0
    r = np.ones(n)
    p, q = np.ones(n), np.empty(n)
    rho = float(n)
    goal = tolerance * tolerance * n
    for _ in range(20 * n + 100):
        if rho <= goal:
            return CONVERGED
        multiply(starts, ends, weights, p, q)
        alpha = rho / np.dot(p, q)
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
        after = np.dot(r, r)
        beta = after / rho
        for i in range(n):
            p[i] = r[i] + beta * p[i]
        rho = after
    return TOO_SLOW


@jit
def stabilised_gradients(
    starts: Integers, ends: Integers, weights: Array, b: Array, tolerance: float, x: Array
) -> int:
    """Write (I − M)⁻¹b to ``x``, for any M of spectral radius below 1: BiCGStab, or fixed point."""
    n = starts.size - 1
    x[:] = 0.0
    highest = np.abs(b).max()
    if highest == 0.0:
        return CONVERGED
    r, first = b.copy(), b.copy()
    p, v, t = np.zeros(n), np.zeros(n), np.empty(n)
    rho = alpha = omega = 1.0
    goal = tolerance * np.sqrt(np.dot(b, b))
    for _ in range(2 * n + 50):
        if np.sqrt(np.dot(r, r)) <= goal:
            break
        after = np.dot(first, r)
        if after == 0.0 or omega == 0.0:
            break
        beta = after / rho * (alpha / omega)
        rho = after
        p = r + beta * (p - omega * v)
        multiply(starts, ends, weights, p, v)
        along = np.dot(first, v)
        if along == 0.0:
            break
        alpha = rho / along
        r = r - alpha * v
        x += alpha * p
        multiply(starts, ends, weights, r, t)
        size = np.dot(t, t)
        omega = np.dot(t, r) / size if size > 0.0 else 0.0
        x += omega * r
        r = r - omega * t
    # The residual above drifts; this one is exact, and the fixed point always gets there.
    for _ in range(200_000):
        multiply(starts, ends, weights, x, v)
        worst = 0.0
        for i in range(n):
            v[i] = b[i] - v[i]
            worst += v[i] * v[i]
        if not np.isfinite(worst):
            x[:] = 0.0
            continue
        if np.sqrt(worst) <= 100 * goal * max(1.0, np.abs(x).max() / highest):
            return CONVERGED
        x += v
    return TOO_SLOW


@jit
def product_sums(
    left: Integers,
    right: Integers,
    node_starts: Integers,
    labels: Codes,
    arc_starts: Integers,
    targets: Integers,
    arc_weights: Array,
    edge_labels: Codes,
    symmetric: bool,
    decay: float,
    tolerance: float,
    slopes: bool,
    out: Array,
) -> int:
    """Write 1ᵀ(I − λ A×)⁻¹1 of the product graph of each pair (left[i], right[i]).

    With ``slopes``, λ times its derivative: 1ᵀ(I − M)⁻¹ M (I − M)⁻¹1, M = λ A×.
    """
    worst = CONVERGED
    for pair in range(left.size):
        a, b = left[pair], right[pair]
        starts, ends, weights = product_graph(
            node_starts[a : a + 2],
            node_starts[b : b + 2],
            labels,
            arc_starts,
            targets,
            arc_weights,
            edge_labels,
        )
        if ends.size == 0:
            out[pair] = 0.0 if slopes else starts.size - 1
            continue
        weights *= decay
        x, z = np.empty(starts.size - 1), np.empty(starts.size - 1)
        if symmetric:
            status = conjugate_gradients(starts, ends, weights, tolerance, x)
        else:
            status = stabilised_gradients(starts, ends, weights, np.ones(x.size), tolerance, x)
        out[pair] = x.sum()
        worst = max(worst, status)
        if not slopes:
            continue
        apply(starts, ends, weights, x, z)
        if symmetric:
            out[pair] = np.dot(x, z)
        else:
            worst = max(worst, stabilised_gradients(starts, ends, weights, z, tolerance, x))
            out[pair] = x.sum()
    return worst


@jit
def perron_root(
    starts: Integers, ends: Integers, weights: Array, parts: Integers, tolerance: float
) -> float:
    """Return an upper bound, within ``tolerance``, of the spectral radius of a matrix M ≥ 0.

    ``parts`` numbers its strongly connected parts; the largest radius of a part counts. Powers of
    I + M/s applied to a positive vector bracket each: min (Mx)ᵢ/xᵢ ≤ ρ ≤ max (Mx)ᵢ/xᵢ.
    """
    n = starts.size - 1
    count = 0
    for i in range(n):
        count = max(count, parts[i] + 1)
    x, y = np.ones(n), np.empty(n)
    low, high, top = np.empty(count), np.empty(count), np.empty(count)
    upper = 0.0
    for _ in range(100_000):
        low[:], high[:], top[:] = np.inf, 0.0, 0.0
        for i in range(n):
            total = 0.0
            for p in range(starts[i], starts[i + 1]):
                if parts[ends[p]] == parts[i]:
                    total += weights[p] * x[ends[p]]
            y[i] = total
            ratio = total / x[i]
            low[parts[i]] = min(low[parts[i]], ratio)
            high[parts[i]] = max(high[parts[i]], ratio)
        upper = high.max()
        lower = low.max()
        if upper - lower <= tolerance * upper:
            break
        for i in range(n):
            y[i] += 0.5 * upper * x[i]
            top[parts[i]] = max(top[parts[i]], y[i])
        for i in range(n):
            # A vector that is positive stays so, though it may become very small.
            x[i] = max(y[i] / top[parts[i]], 1e-280)
    return upper

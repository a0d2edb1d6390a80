"""
How far to go
=============

A gradient says where f falls, not how far. Steps of a fixed length are too short or too long; a
line search measures; Newton's method asks a parabola. (Lecture 000, figures 11 and 16.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import optimize


def f(x):
    return np.exp(x[0]) + np.exp(-1.5 * x[0]) + 0.1 * x[0] ** 2


def slope(x):
    return np.array([np.exp(x[0]) - 1.5 * np.exp(-1.5 * x[0]) + 0.2 * x[0]])


x = np.linspace(-2.2, 3.2, 300)
height = np.array([f([t]) for t in x])

# %%
# Fixed steps
# -----------
# Too short, and eight steps get nowhere. Too long, and they leap across the valley and out of it.
# The curvature at the bottom tells what is just right.
start = [1.0]
figure, panels = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained", sharey=True)
for axes, size, name in zip(
    panels, (0.02, 0.68, 0.3), ("too short", "too long", "just right"), strict=True
):
    found = optimize.gradient_descent(f, start, slope, line_search=size, max_iter=8)
    places = found.trace.points[:, 0]
    axes.plot(x, height, color="C5", lw=1.2)
    axes.plot(places, found.trace.values, "o-", color="C0", ms=4, lw=0.9)
    axes.plot(places[0], found.trace.values[0], "o", color="C1", ms=7)
    axes.set(title=f"t = {size:g}, {name}: f = {found.value:.3g}", xlabel="x", ylim=(0, 16))
panels[0].set_ylabel("f(x)")
plt.show()

# %%
# Backtracking
# ------------
# From x along d = −f′(x), a full step lands too high. It is halved until f falls by a fair share of
# what the slope promises: the dashed line, between the tangent and the horizontal.
here, share = np.array([1.5]), 0.3
down = -slope(here)
found = optimize.line_search(f, here, down, slope, share=share)
t = np.linspace(0, 1.05, 300)
along = np.array([f(here + step * down) for step in t])
falls = float(slope(here) @ down)
figure, axes = plt.subplots(figsize=(7.4, 3.9), layout="constrained")
axes.plot(t, along, color="#1b2a41")
axes.plot(t, f(here) + falls * t, color="C5", lw=1)
axes.plot(t, f(here) + share * falls * t, color="C1", ls="--", lw=1.4)
axes.annotate("f(x + td)", (0.52, 13), color="#1b2a41")
axes.annotate("the tangent", (0.37, f(here) + falls * 0.37), xytext=(6, 0),
              textcoords="offset points", color="C5")  # fmt: skip
axes.annotate("a share of it", (0.62, f(here) + share * falls * 0.62), xytext=(4, 4),
              textcoords="offset points", color="C1")  # fmt: skip
tried = 0.5 ** np.arange(found.evaluations)
for step in tried[tried <= 1.05]:
    good = step == found.size
    axes.plot(step, f(here + step * down), "o", color="C2" if good else "C1", ms=8 if good else 6)
axes.annotate(f"t = {found.size:g} will do", (found.size, found.value), xytext=(-20, 12),
              textcoords="offset points", color="C2")  # fmt: skip
axes.set(xlabel="t", ylabel="f", ylim=(-4, 24))
plt.show()

# %%
# Newton's parabola
# -----------------
# The parabola that has the value, the slope and the curvature of f at x leads to its own lowest
# point. Where f is nearly a parabola, that is nearly the lowest point of f.
found = optimize.newton(f, [1.9], slope)
figure, panels = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained", sharey=True)
for k, axes in enumerate(panels):
    at = found.trace.points[k, 0]
    bend = np.exp(at) + 2.25 * np.exp(-1.5 * at) + 0.2
    parabola = f([at]) + slope([at])[0] * (x - at) + 0.5 * bend * (x - at) ** 2
    lowest = at - slope([at])[0] / bend
    axes.plot(x, height, color="#1b2a41", lw=1.4)
    axes.plot(x, parabola, color="C1", ls="--", lw=1.3)
    axes.plot(at, f([at]), "o", color="C0", ms=7)
    axes.plot(lowest, parabola.min(), "v", color="C1", ms=7)
    axes.plot([lowest, lowest], [parabola.min(), f([lowest])], color="C5", lw=0.9)
    axes.set(title=f"step {k + 1}: from {at:.3f} to {lowest:.3f}", xlabel="x", ylim=(0, 11))
panels[0].set_ylabel("f, and its parabola")
plt.show()
print(f"Newton: {found.iterations} steps to a slope of {found.slope:.0e}")

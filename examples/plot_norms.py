"""
Unit balls, and lines in three norms
====================================

A norm is known by its unit ball: all vectors of length 1 at most. The choice of a norm for
residuals decides which line is best. (Lecture 000, figures 3 to 6 and 12 to 15.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Huber, LargeError, NormRegressor, PenaltyRegressor, norms

# %%
# Unit balls
# ----------
# From p = 1 to p = ∞ the ball grows from a diamond to a square. The balls of p < 1 are not convex:
# the triangle inequality fails, and they are no norms. L0 counts entries that are not zero.
figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for p, colour in zip((1, 1.5, 2, 4, np.inf), ("C0", "C1", "C2", "C3", "C4"), strict=True):
    norms.Lp(p).plot(panels[0], color=colour, label=f"p = {p:g}".replace("inf", "∞"))
panels[0].set_title("Lp norms")
for p, colour in zip((0.3, 0.5, 0.8), ("C0", "C1", "C2"), strict=True):
    norms.Lp(p).plot(panels[1], color=colour, label=f"p = {p:g}")
norms.L0().plot(panels[1], color="C3", label="L0: the axes")
panels[1].set_title("no norms")
norm = norms.Quadratic([[2.0, 0.9], [0.9, 1.0]])
norm.plot(panels[2], color="C0", label="√(xᵀPx)")
norm.dual().plot(panels[2], color="C1", label="its dual, √(xᵀP⁻¹x)")
panels[2].set_title("a quadratic norm and its dual")
for axes in panels:
    axes.set(xlim=(-1.9, 1.9), ylim=(-1.9, 2.5))
    axes.legend(fontsize=8, loc="upper right", ncols=2)
plt.show()

# %%
# Where is it steepest?
# ---------------------
# The direction of steepest descent depends on how steps are measured: it is the point of the unit
# ball that lies farthest against the gradient. In L1 that is a corner, so one coordinate moves; in
# L∞ another corner, all move by as much; in L2 it is −∇f. (Lecture 000, figures 12 to 15.)
gradient = np.array([0.9, 0.45])
kinds = (norms.l1, norms.l2, norms.Lp(4), norms.linf, norms.Quadratic([[2.0, 0.9], [0.9, 1.0]]))
names = ("L1", "L2", "L4", "L∞", "√(xᵀPx)")
figure, panels = plt.subplots(1, 5, figsize=(12.5, 2.9), layout="constrained", sharey=True)
for axes, norm, name in zip(panels, kinds, names, strict=True):
    norm.plot(axes, color="C0")
    step = norm.steepest(gradient)
    # The line of equal descent touches the ball there.
    along = np.array([-gradient[1], gradient[0]]) / np.linalg.norm(gradient)
    axes.plot(*(step + np.outer([-1.2, 1.2], along)).T, color="C5", lw=1)
    axes.annotate("", step, (0, 0), arrowprops={"arrowstyle": "->", "color": "C1", "lw": 2})
    axes.annotate("", 0.9 * gradient, (0, 0), arrowprops={"arrowstyle": "->", "lw": 1})
    axes.annotate("∇f", 0.9 * gradient, xytext=(2, 3), textcoords="offset points")
    axes.set(title=f"{name}: f falls by {-gradient @ step:.2f}", xlim=(-1.6, 1.6), ylim=(-1.7, 1.5))
plt.show()

# %%
# Lines in three norms
# --------------------
# The least sum of distances (L1) ignores the outliers and goes exactly through two points. The
# least largest distance (L∞) is decided by the three farthest points. Least squares (L2) lies in
# between.
random = np.random.default_rng(3)
x = np.sort(random.uniform(0, 10, 30))
y = 1 + 0.5 * x + 0.4 * random.normal(size=30)
y[[24, 26, 28]] += [5, 6, 4]
X = x[:, None]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(x, y, "o", color="#1b2a41", ms=5, zorder=3)
for norm, name, colour in ((1, "L1", "C0"), (2, "L2", "C1"), (np.inf, "L∞", "C2")):
    model = NormRegressor(norm).fit(X, y)
    axes.plot(x, model.predict(X), color=colour, label=f"{name}: slope {model.coef_[0]:.2f}")
    marked = model.interpolated_
    axes.plot(x[marked], y[marked], "o", mfc="none", mec=colour, ms=10, mew=1.5)
    print(f"{name}: relative gap {abs(model.certificate_.relative_gap):.0e}, points {marked}")
axes.set(xlabel="x", ylabel="y", title="Points that decide are circled")
axes.legend()
plt.show()

# %%
# Penalties
# ---------
# Other penalties of residuals lie between those: Huber's is a square near zero and linear far
# away; the last one gives up on residuals beyond a, and is not convex.
from mercer import L1, L2, DeadZone, LogBarrier

r = np.linspace(-2, 2, 401)
kinds = (L2(), L1(), Huber(0.5), DeadZone(0.5), LogBarrier(1.0), LargeError(1.0))
figure, panels = plt.subplots(1, 6, figsize=(12, 2.4), layout="constrained", sharey=True)
for axes, penalty in zip(panels, kinds, strict=True):
    values = penalty.value(r)
    axes.plot(r, np.where(np.isfinite(values), values, np.nan), color="C0")
    axes.set(title=repr(penalty), xlim=(-2, 2), ylim=(-0.1, 3), xlabel="r")
    axes.title.set_fontsize(9)
plt.show()

for penalty in (L2(), Huber(0.5), LargeError(1.0)):
    model = PenaltyRegressor(penalty, random_state=0).fit(X, y)
    print(f"{penalty!r:>18}: slope {model.coef_[0]:.3f}")

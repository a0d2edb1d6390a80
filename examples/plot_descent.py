"""
Ways down
=========

Gradient descent, steepest descent in other norms, Newton's method and coordinate ascent, on the
contours of one function. Each method leaves a trace, and the trace draws itself. (Lecture 000,
section on descent methods; lecture 001, coordinate ascent.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import optimize

# %%
# A function with a valley
# ------------------------
# The sum of three exponentials is convex, and about ten times as steep along one axis as along the
# other. The gradient points across the valley, so gradient descent zigzags.


def f(x):
    return np.exp(x[0] + 3 * x[1] - 0.1) + np.exp(x[0] - 3 * x[1] - 0.1) + np.exp(-x[0] - 0.1)


start, tol = [-2.2, 0.9], 1e-6
stretch = np.diag([1.0, 9.0])
ways = {
    "gradient descent": optimize.gradient_descent(f, start, line_search="exact", tol=tol),
    "steepest in L1: one coordinate": optimize.steepest_descent(f, start, norm=1, tol=tol),
    "steepest in L∞: signs": optimize.steepest_descent(f, start, norm=np.inf, tol=tol),
    "steepest in a quadratic norm": optimize.steepest_descent(f, start, norm=stretch, tol=tol),
    "Newton": optimize.newton(f, start, tol=tol),
    "coordinate ascent of −f": optimize.coordinate_ascent(lambda x: -f(x), start, tol=tol),
}
figure, panels = plt.subplots(2, 3, figsize=(11, 6), layout="constrained", sharex=True, sharey=True)
levels = np.geomspace(2.56, 25, 14)
u, v = np.meshgrid(np.linspace(-2.6, 1.2, 200), np.linspace(-1.1, 1.1, 200))
height = f(np.stack([u, v]))
colours = ("C0", "C1", "C2", "C3", "C4", "#1b2a41")
for axes, (name, found), colour in zip(panels.ravel(), ways.items(), colours, strict=True):
    axes.contour(u, v, height, levels=levels, colors="#c5ccd6", linewidths=0.8)
    found.plot(axes, contours=False, color=colour)
    axes.set_title(f"{name}: {found.iterations} steps")
    axes.set(xlim=(-2.6, 1.2), ylim=(-1.1, 1.1))
plt.show()

# %%
# How fast
# --------
# Descent along the gradient wins a constant factor with each step, a straight line on a logarithmic
# scale. Newton's method doubles the number of correct digits.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
best = ways["Newton"].value
for (name, found), colour in zip(ways.items(), colours, strict=True):
    away = np.abs(np.abs(found.trace.values) - best)
    axes.semilogy(np.where(away > 1e-15, away, np.nan), ".-", color=colour, label=name, lw=1.2)
axes.set(xlabel="step", ylabel="f(x) − min f", xlim=(0, 40), ylim=(1e-13, 30))
axes.legend(fontsize=8)
plt.show()

# %%
# Prices of a constraint
# ----------------------
# Minimise x² + 1 subject to (x − 2)(x − 4) ≤ 0. The dual function g(λ) bounds the optimum from
# below for every price λ ≥ 0, and its best value is the optimum: at λ = 2 there is no gap.
problem = optimize.ConstrainedProblem(
    optimize.QuadraticFunction([[2.0]], r=1.0),
    optimize.QuadraticFunction([[2.0]], [-6.0], 8.0),
)
answer = optimize.solve(problem)
x, prices = np.linspace(-1, 5, 200), np.linspace(0, 6, 100)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
panels[0].axvspan(2, 4, color="#e8f1ec", label="feasible")
panels[0].plot(x, [problem.value([t]) for t in x], color="#1b2a41", label="f₀")
for price, colour in zip((0.5, 1.0, 2.0, 4.0), ("C0", "C1", "C2", "C3"), strict=True):
    line = [problem.lagrangian([t], price) for t in x]
    panels[0].plot(x, line, color=colour, lw=1, label=f"L(x, {price:g})")
panels[0].set(ylim=(-2, 20), xlabel="x", title="the Lagrangian at four prices")
panels[0].legend(fontsize=8, ncols=2)
panels[1].plot(prices, [problem.dual(price) for price in prices], color="C0", label="g(λ)")
panels[1].axhline(answer.certificate.primal, color="#1b2a41", lw=1, ls="--", label="optimum")
panels[1].plot(answer.lambda_, [answer.certificate.dual], "*", ms=12, color="C1")
panels[1].set(xlabel="λ", title="every price gives a bound")
panels[1].legend()
plt.show()
print(answer.certificate)

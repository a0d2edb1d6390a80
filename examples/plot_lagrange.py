"""
Where a constraint touches a contour
====================================

At the best point of a constraint, the contour of f is tangent to it: their gradients are parallel,
and the factor between them is the multiplier, the price of the constraint. (Lecture 003, section
4.2.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import optimize

# %%
# Two variables
# -------------
# Minimise a tilted bowl inside of a disc. ``solve`` gives the point, the multiplier and a
# certificate; the arrows are the gradients at the answer.
bowl = optimize.QuadraticFunction([[2.0, 0.6], [0.6, 1.0]], [-4.2, -3.0], 5.0)
disc = optimize.QuadraticFunction(np.eye(2) * 2, [0.0, 0.0], -1.0)  # x₁² + x₂² ≤ 1
answer = optimize.solve(optimize.ConstrainedProblem(bowl, disc))
x, price = answer.x, float(answer.lambda_[0])
downhill, outward = -bowl.gradient(x), disc.gradient(x)

u, v = np.meshgrid(np.linspace(-1.5, 2.6, 200), np.linspace(-1.4, 2.6, 200))
heights = np.reshape([bowl(p) for p in np.column_stack([u.ravel(), v.ravel()])], u.shape)
figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
levels = bowl(x) + np.array([-2.0, -1.2, 0.0, 1.6, 4.0, 8.0, 14.0])
axes.contour(u, v, heights, levels[levels > heights.min()], colors="C5", linewidths=0.8,
             linestyles="-")  # fmt: skip
axes.contour(u, v, heights, [bowl(x)], colors="C1", linewidths=1.8)
angle = np.linspace(0, 2 * np.pi, 200)
axes.fill(np.cos(angle), np.sin(angle), color="C0", alpha=0.15)
axes.plot(np.cos(angle), np.sin(angle), color="C0")
for arrow, words, colour in ((0.35 * downhill, "−∇f", "C1"), (0.35 * outward, "∇g", "C0")):
    axes.annotate("", x + arrow, x, arrowprops={"arrowstyle": "->", "color": colour, "lw": 2})
    axes.annotate(words, x + arrow, xytext=(5, -3), textcoords="offset points", color=colour)
axes.plot(*x, "o", color="#1b2a41", ms=7, zorder=5)
axes.annotate("g(x) ≤ 0", (-0.35, -0.3), color="C0")
axes.set(title=f"−∇f = λ∇g with λ = {price:.3f}", xlabel="x₁", ylabel="x₂", aspect="equal")
plt.show()
print("−∇f/∇g in both coordinates:", (downhill / outward).round(6))
print(answer.certificate)

# %%
# The price of a radius
# ---------------------
# λ says how much the best value falls if the constraint is loosened a little: the slope of p*(u)
# for g(x) ≤ u. Where the constraint does not bind, it costs nothing.
rooms = np.linspace(-0.9, 5.5, 33)
values, prices = [], []
for room in rooms:
    wider = optimize.QuadraticFunction(np.eye(2) * 2, [0.0, 0.0], -1.0 - room)
    found = optimize.solve(optimize.ConstrainedProblem(bowl, wider))
    values.append(found.certificate.primal)
    prices.append(float(found.lambda_[0]))
figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained")
panels[0].plot(rooms, values, color="#1b2a41")
panels[0].plot(rooms, bowl(x) - price * rooms, "--", color="C1", lw=1.2)
panels[0].annotate("slope −λ", (2.2, bowl(x) - price * 2.2), color="C1", xytext=(6, 2),
                   textcoords="offset points")  # fmt: skip
panels[0].plot(0, bowl(x), "o", color="C1")
panels[0].set(xlabel="u, how much room there is", ylabel="p*(u)", ylim=(min(values) - 1, None))
panels[1].plot(rooms, prices, color="C0")
panels[1].plot(rooms[1:-1], -np.gradient(values, rooms)[1:-1], "o", color="C1", ms=3)
panels[1].annotate("λ(u)", (0.2, prices[5]), color="C0")
panels[1].annotate("−dp*/du, by differences", (1.6, prices[8] * 0.75), color="C1")
panels[1].set(xlabel="u", ylabel="price")
plt.show()

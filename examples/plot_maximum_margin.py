"""
One line of many
================

Countless lines separate two classes; one of them keeps the largest distance from both. What it
hangs on, where its bias comes from, and how its multipliers are found two at a time. (Lecture 003,
sections 1.3 and 3; lecture 001, maximum margin classifier and SMO; lecture 004.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, Perceptron, optimize

random = np.random.default_rng(4)
X = np.vstack([random.normal([0.4, 0.8], 0.55, (22, 2)), random.normal([2.9, 2.4], 0.55, (22, 2))])
y = np.repeat([-1, 1], 22)

# %%
# Many lines
# ----------
# A perceptron ends at the first line that separates; another order of the rows, another line. The
# hard margin (C = ∞) has no choice: the widest margin is unique.
figure, panels = plt.subplots(1, 2, figsize=(10.2, 4.3), layout="constrained", sharey=True)
machine = SVC("linear", C=np.inf).fit(X, y)
ends = np.array([-1.4, 4.8])
for seed in range(12):
    w, b = (lambda m: (m.coef_[0], m.intercept_[0]))(
        Perceptron(random_state=seed, tol=None).fit(X, y)
    )
    panels[0].plot(ends, -(w[0] * ends + b) / w[1], color="C5", lw=0.9)
for label, colour, marker in ((-1, "C0", "o"), (1, "C1", "s")):
    panels[0].plot(*X[y == label].T, marker, color=colour, ms=5, mec="white", mew=0.5)
panels[0].set(
    title="twelve perceptrons", xlabel="x₁", ylabel="x₂", xlim=(-1.4, 4.8), ylim=(-0.8, 4)
)
machine.plot(X, y, panels[1]).set_title(f"the hard margin, {machine.margin_:.2f} wide")
plt.show()

# %%
# The distance of a point
# -----------------------
# y(w·x + b)/‖w‖ is the distance from the line, positive on the right side. The nearest points of
# both classes decide: b lies in the middle between their values of w·x.
w, b = machine.coef_[0], machine.intercept_[0]
figure, panels = plt.subplots(1, 2, figsize=(10.2, 3.8), layout="constrained")
order = np.argsort(machine.geometric_margins_)
distances = machine.geometric_margins_[order]
colours = np.where(y[order] > 0, "C1", "C0")
panels[0].bar(np.arange(len(y)), distances, color=colours)
panels[0].axhline(machine.margin_ / 2, color="#1b2a41", lw=1)
panels[0].annotate("half the margin, 1/‖w‖", (0, machine.margin_ / 2), xytext=(0, 1.6),
                   arrowprops={"arrowstyle": "-"})  # fmt: skip
panels[0].set(xlabel="points, nearest first", ylabel="distance y(w·x + b)/‖w‖")
along = X @ w
highest, lowest = along[y < 0].max(), along[y > 0].min()
for label, colour, marker in ((-1, "C0", "o"), (1, "C1", "s")):
    panels[1].plot(along[y == label], np.zeros(22), marker, color=colour, ms=6, alpha=0.7)
panels[1].axvline(-b, color="#1b2a41")
for value, words, side in (
    (highest, "the last of the one", "right"),
    (lowest, "the first of the other", "left"),
):
    panels[1].annotate(words, (value, 0), xytext=(0, 26), textcoords="offset points", ha=side,
                       arrowprops={"arrowstyle": "-", "lw": 0.8})  # fmt: skip
panels[1].annotate("−b, the middle", (-b, -0.04), xytext=(4, 0), textcoords="offset points")
panels[1].set(xlabel="w·x", yticks=[], ylim=(-0.06, 0.06))
plt.show()
print(f"b = {b:.6f}, the middle with its sign turned is {-(highest + lowest) / 2:.6f}")

# %%
# Two multipliers at a time
# -------------------------
# Sequential minimal optimisation moves αᵢ and αⱼ along a line on which Σ yα stays 0. Both stay in
# the box [0, C]², so αⱼ has to stay in [L, H].
C = 0.6
trace = optimize.smo(X @ X.T, y, C=C, tol=1e-6)
reached = trace.alphas[np.arange(1, len(trace) + 1), trace.pairs[:, 1]]
cut = np.abs(trace.unclipped - reached)
step = int(np.argmax(np.where(cut < 0.5 * C, cut, -1)))
i, j = trace.pairs[step]
before, after = trace.alphas[step], trace.alphas[step + 1]
L, H = trace.intervals[step]
figure, panels = plt.subplots(1, 3, figsize=(11.4, 3.6), layout="constrained")
box = panels[0]
box.plot([0, C, C, 0, 0], [0, 0, C, C, 0], color="#1b2a41", lw=1.2)
slope = -y[i] * y[j]
line = np.array([L, H])
box.plot(before[i] + slope * (line - before[j]), line, color="C0", lw=5, alpha=0.4)
box.plot(before[i], before[j], "o", mfc="white", mec="C1", ms=9)
box.plot(after[i], after[j], "o", color="C1", ms=9)
wanted = trace.unclipped[step]
box.plot(before[i] + slope * (wanted - before[j]), wanted, "x", color="C5", ms=8, mew=2)
box.annotate("unclipped", (before[i] + slope * (wanted - before[j]), wanted), xytext=(6, 4),
             textcoords="offset points", color="C5")  # fmt: skip
box.set(title=f"step {step + 1}: αⱼ in [{L:.2g}, {H:.2g}]", xlabel=f"α of row {i}",
        ylabel=f"α of row {j}", aspect="equal")  # fmt: skip
trace.plot(panels[1:])
plt.show()
print(trace)

# %%
# Multipliers of both kinds
# -------------------------
# Where classes overlap there are two multipliers for each point, α of its margin and β = C − α of
# its slack, and at most one of the two prices is not for nothing: β > 0 means no slack, α > 0 means
# a point on or past its margin.
X = np.vstack([random.normal([-0.7, -0.4], 0.8, (22, 2)), random.normal([0.8, 0.6], 0.8, (22, 2))])
machine = SVC("linear", C=0.8).fit(X, y)
order = np.argsort(-machine.functional_margins_)
figure, (left, right) = plt.subplots(1, 2, figsize=(11.4, 4.2), layout="constrained")
machine.plot(X, y, left)
rows = np.arange(len(y))
right.bar(rows, machine.alpha_[order], color="C0", width=0.8)
right.bar(rows, machine.beta_[order], bottom=machine.alpha_[order], color="C5", alpha=0.35)
right.plot(rows, machine.slack_[order], "o-", color="C1", ms=3, lw=1)
right.annotate("α", (len(y) - 3, 0.35), color="white", weight="bold")
right.annotate("β = C − α", (2, 0.4))
right.annotate("slack ξ", (len(y) - 1, machine.slack_.max()), ha="right", va="bottom", color="C1",
               xytext=(-8, 0), textcoords="offset points")  # fmt: skip
right.set(xlabel="points, from safe to wrong", ylabel="multiplier, slack")
plt.show()
worst = max(np.abs(machine.beta_ * machine.slack_).max(), 0)
print(f"largest β·ξ: {worst:.1e}; Σ yα = {(y * machine.alpha_).sum():.1e}")

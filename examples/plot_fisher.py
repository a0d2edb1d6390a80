"""
A generative model as a kernel
==============================

A hidden Markov model that was fitted to all series knows nothing of classes. But each series pulls
its parameters in a direction of its own, the Fisher score, and a kernel machine can learn from
these. (Lecture 003, section 21.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC, Fisher, GaussianMixture, HiddenMarkovModel, read_series

# %%
# GunPoint: the height of a hand that draws a gun and aims, or that points with a finger. The slope
# is a second channel. 50 series to learn from, 150 to test.
hands = read_series("gunpoint")
height = np.stack([x[0] for x in hands.X])
series = np.stack([height, 10 * np.gradient(height, axis=1)], axis=1)
X, y, T, t = series[:50], hands.y[:50], series[50:], hands.y[50:]

# %%
# The model
# ---------
# EM raises the likelihood in every step, and the trace proves it.
model = HiddenMarkovModel(5, random_state=0).fit(X)
print(f"{model.n_iter_} steps, converged: {model.converged_}")
print(f"monotone: {model.ascent_.is_monotone}, largest drop {model.ascent_.largest_drop:.1e}")

# %%
# The kernel
# ----------
# The number of states is chosen by cross-validation inside the training part. A model that was not
# fitted is fitted anew in each fold. The nearest neighbour by warping is wrong in 9.3 % of the test
# series, as published with the archive.
scores = {}
for states in (3, 5):
    kernel = Fisher(HiddenMarkovModel(states, n_init=1, random_state=0), "diagonal").normalized()
    scores[states] = cross_val_score(SVC(kernel=kernel), X, y, cv=5).mean()
    print(f"{states} states: {scores[states]:.0%} right in cross-validation")
best = max(scores, key=scores.get)
kernel = Fisher(HiddenMarkovModel(best, n_init=1, random_state=0), "diagonal").normalized()
machine = SVC(kernel=kernel).fit(X, y)
print(f"{best} states: {1 - machine.score(T, t):.1%} of the test series wrong")

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
left.plot(model.trace_, ".-")
left.set(xlabel="step of EM", ylabel="log-likelihood for each time", title="The ascent")
path = model.predict(X[:1])[0]
for state in range(5):
    there = np.flatnonzero(path == state)
    middle.plot(there, X[0, 0, there], ".", ms=5, label=f"state {state}")
middle.set(xlabel="time", ylabel="height", title="The likeliest states of one series")
middle.legend(frameon=False, fontsize=8)
order = np.argsort(y, kind="stable")
image = right.imshow(Fisher(model, "diagonal").normalized()(X[order]), cmap="RdBu", vmin=-1, vmax=1)
right.set(title="The kernel, by class", xticks=[])
counts = np.unique(y, return_counts=True)
right.set_yticks(np.cumsum(counts[1]) - counts[1] / 2, counts[0], rotation=90, va="center")
figure.colorbar(image, ax=right)

# %%
# How points pull a mixture
# -------------------------
# Of a mixture of two Gaussians in the plane: each arrow shows how a point pulls the means, and
# the colour how much the point belongs to the first component.
random = np.random.default_rng(1)
points = np.vstack([random.normal(size=(40, 2)), random.normal(size=(40, 2)) * 0.6 + [3.5, 1.5]])
mixture = GaussianMixture(2, covariance_type="spherical", random_state=0).fit(points)
scores = mixture.fisher_scores(points)
share = mixture.predict_proba(points)[:, 0]

figure, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
pull = (scores[:, 2:4] + scores[:, 4:6]) * 0.18
axes.quiver(*points.T, *pull.T, share, cmap="coolwarm", angles="xy", scale_units="xy", scale=1,
            width=0.004)  # fmt: skip
axes.scatter(*points.T, c=share, cmap="coolwarm", s=14)
axes.plot(*mixture.means_.T, "k*", ms=14, label="means")
axes.legend(frameon=False)
axes.margins(0.12)
axes.set(title="Scores of the means", aspect="equal")
plt.show()

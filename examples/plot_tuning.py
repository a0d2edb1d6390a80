"""
The surface of a search
=======================

A support vector machine with a Gaussian kernel has two parameters, the price C of slack and the
width γ. Good pairs lie on a ridge: a smoother kernel wants a higher price. mercer computes the
whole surface from one matrix of distances, or on request only the part that can hold the best
point.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, GridSearchCV, load_data

heart = load_data("heart")
grid = {"C": np.logspace(-2, 4, 19), "gamma": np.logspace(-4, 1, 16)}
every = GridSearchCV(SVC(), grid).fit(heart.X, heart.y)
quick = GridSearchCV(SVC(), grid, exhaustive=False).fit(heart.X, heart.y)

print(f"best of {len(every.cv_results_['params'])} cells: {every.best_score_:.3f}")
print(f"dropped without a full score: {quick.cv_results_['dropped'].sum()}")
print(f"same winner: {quick.best_params_ == every.best_params_}")

# %%
# On the left all scores; on the right what `exhaustive=False` computes. Cells that could not win
# any more are grey: the darker, the lower the bound on their score.
shape = (len(grid["C"]), len(grid["gamma"]))
scores = every.cv_results_["mean_test_score"].reshape(shape)
kept = quick.cv_results_["mean_test_score"].reshape(shape)
bounds = np.ma.masked_where(~np.isnan(kept), quick.cv_results_["bound"].reshape(shape))

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
low, high = scores.min(), scores.max()
for axis, values, title in zip(axes, (scores, kept), ("every cell", "what can win"), strict=True):
    picture = axis.pcolormesh(
        grid["gamma"], grid["C"], values, vmin=low, vmax=high, rasterized=True
    )
    axis.set(xscale="log", yscale="log", xlabel="γ", title=title)
    best = every.best_params_
    axis.plot(best["gamma"], best["C"], "o", ms=9, mfc="none", mec="white", mew=2)
axes[1].pcolormesh(
    grid["gamma"], grid["C"], bounds, cmap="Greys_r", vmin=low - 0.2, vmax=1.0, rasterized=True
)
axes[0].set_ylabel("C")
figure.colorbar(picture, ax=axes, label="accuracy, mean of 5 folds")
plt.show()

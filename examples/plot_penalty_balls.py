"""
Why L1 makes zeros
==================

Least squares with ‖w‖ ≤ t: the best weights lie where the smallest contour of the loss touches the
ball. A round ball is touched anywhere. The ball of L1 has corners on the axes, and a corner is a
weight of zero. (Lecture 000, figures 1 and 2.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import NormRegressor, lasso_path, norms, ridge_path

random = np.random.default_rng(2)
X = random.normal(size=(60, 2)) @ np.array([[1.0, 0.5], [0.0, 0.9]])
y = X @ [0.45, 1.55] + 0.3 * random.normal(size=60)
free = NormRegressor(fit_intercept=False).fit(X, y)

# %%
# The ball meets the contours
# ---------------------------
# ``radius`` is t, ``ball`` the norm of the weights. The certificate proves that no point of the
# ball is better: its dual value is a lower bound of the loss inside.
radius = 1.0
u, v = np.meshgrid(np.linspace(-1.3, 1.9, 240), np.linspace(-1.3, 2.3, 240))
loss = np.linalg.norm(y[:, None] - X @ np.stack([u.ravel(), v.ravel()]), axis=0).reshape(u.shape)
figure, panels = plt.subplots(1, 2, figsize=(9.4, 4.9), layout="constrained", sharey=True)
for axes, p in zip(panels, (2, 1), strict=True):
    model = NormRegressor(2, radius=radius, ball=p, fit_intercept=False).fit(X, y)
    levels = model.norm_ + np.array([-3.0, -1.8, -0.8, 0.0, 1.6, 4.0])
    axes.contour(u, v, loss, levels[levels > free.norm_], colors="C5", linewidths=0.8)
    axes.contour(u, v, loss, [model.norm_], colors="C1", linewidths=1.8)
    ball = radius * norms.Lp(p).unit_ball()
    axes.fill(*ball.T, color="C0", alpha=0.15)
    axes.plot(*ball.T, color="C0")
    axes.plot(*free.coef_, "+", color="C5", ms=10, mew=2)
    axes.annotate("least loss", free.coef_, xytext=(8, 4), textcoords="offset points")
    axes.plot(*model.coef_, "o", color="C1", ms=8, mec="white")
    words = f"w = ({model.coef_[0]:.2f}, {model.coef_[1]:.2f})"
    axes.annotate(words, (0, 0), ha="center", va="center", color="C1")
    axes.annotate(f"L{p} ball", (0, -0.55), ha="center", color="C0")
    gap = max(model.certificate_.relative_gap, 0)
    axes.set(title=f"‖w‖{'₁₂'[p - 1]} ≤ 1, proven within {gap:.0e}", xlabel="w₁", aspect="equal")
panels[0].set_ylabel("w₂")
plt.show()

# %%
# The same along all radii
# ------------------------
# A penalty α is a radius in disguise. As α falls the weights of the lasso leave zero one after the
# other; those of ridge regression are all there from the start.
random = np.random.default_rng(0)
X = random.normal(size=(80, 6))
y = X @ [2.0, -1.4, 0.9, 0.0, 0.0, 0.0] + random.normal(size=80)
figure, panels = plt.subplots(1, 2, figsize=(9.4, 3.6), layout="constrained", sharey=True)
for axes, path, name in zip(panels, (lasso_path, ridge_path), ("lasso", "ridge"), strict=True):
    found = path(X, y)
    found.plot(axes).set_title(f"{name}, gaps below {found.dual_gaps.max():.0e}")
plt.show()

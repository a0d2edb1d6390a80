"""
All of a Gaussian
=================

A Gaussian stays one whatever is done to it: its marginals, its conditionals, its products and the
posterior of an observation are Gaussians too. (Lecture 001, multivariate Gaussian distribution.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian

# %%
# Ellipses, axes, marginal, conditional
# -------------------------------------
# The ellipses hold 50 and 95 % of the probability, the axes are the eigenvectors of Σ, one
# deviation long. Along the edges, the density of each coordinate alone. The dashed line is what
# was seen: x₁ = 2; the density of x₂ along it is narrower than the marginal, and moved.
joint = Gaussian([1.0, -0.5], [[2.0, 1.1], [1.1, 1.2]])
X = joint.sample(250, random_state=0)
seen = joint.condition([0], [2.0])
axes = joint.plot(X, given={0: 2.0})
axes.set_title(f"x₂: N(−{-joint.mean[1]:.2f}, {joint.covariance[1, 1]:.2f}), given x₁ = 2: "
               f"N({seen.mean[0]:.2f}, {seen.covariance[0, 0]:.2f})")  # fmt: skip
plt.show()

# %%
# The formulas, by hand: μ₂ + Σ₂₁Σ₁₁⁻¹(2 − μ₁) and Σ₂₂ − Σ₂₁Σ₁₁⁻¹Σ₁₂.
S, m = joint.covariance, joint.mean
print(m[1] + S[1, 0] / S[0, 0] * (2 - m[0]), S[1, 1] - S[1, 0] ** 2 / S[0, 0])
print(seen.mean[0], seen.covariance[0, 0])

# %%
# What a measurement tells
# ------------------------
# x is unknown, y = x₁ + x₂ + noise is measured to be 3. Across the line x₁ + x₂ = 3 the posterior
# is as narrow as the noise allows; along it nothing was learnt.
prior = Gaussian([0.0, 0.0], [[1.5, 0.2], [0.2, 1.0]])
found = prior.observe([3.0], [[1.0, 1.0]], 0.1)
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
for gaussian, colour, words in ((prior, "C5", "before"), (found.posterior, "C0", "after")):
    for share in (0.5, 0.95):
        ring = gaussian.contour(share)
        axes.plot(*ring.T, color=colour)
    axes.annotate(words, ring[ring[:, 0].argmin()], color=colour, ha="right",
                  xytext=(-4, 0), textcoords="offset points")  # fmt: skip
line = np.array([-0.6, 4.0])
axes.plot(line, 3 - line, "--", color="C1", lw=1)
axes.margins(x=0.15)
axes.annotate("x₁ + x₂ = 3", (-0.4, 3.4), color="C1", xytext=(8, 0), textcoords="offset points")
axes.set(xlabel="x₁", ylabel="x₂", aspect="equal",
         title=f"log evidence −{-found.log_evidence:.2f}")  # fmt: skip
plt.show()

# %%
# From rows to a Gaussian
# -----------------------
# The likeliest Gaussian has the mean and the covariance of the rows. With more rows its ellipse
# settles; how far it is from the true one is a number, the Kullback–Leibler divergence.
figure, panels = plt.subplots(
    1, 3, figsize=(11, 3.4), layout="constrained", sharex=True, sharey=True
)
for axes, count in zip(panels, (5, 30, 1000), strict=True):
    rows = joint.sample(count, random_state=1)
    fitted = Gaussian.estimate(rows)
    axes.plot(*rows.T, ".", color="C5", ms=4, mew=0, alpha=0.6)
    axes.plot(*fitted.contour(0.95).T, color="C0")
    axes.plot(*joint.contour(0.95).T, ":", color="C1")
    axes.set(title=f"{count:,} rows: KL {joint.kl(fitted):.3f}", xlabel="x₁", aspect="equal")
ring = joint.contour(0.95)
panels[0].annotate("true", ring[ring[:, 0].argmin()], xytext=(-4, 0), textcoords="offset points",
                   ha="right", color="C1")  # fmt: skip
ring = Gaussian.estimate(joint.sample(5, random_state=1)).contour(0.95)
panels[0].annotate("found", ring[ring[:, 1].argmin()], xytext=(0, -12), color="C0",
                   textcoords="offset points", ha="center")  # fmt: skip
panels[0].set_ylabel("x₂")
plt.show()

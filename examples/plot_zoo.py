"""
A zoo of radial kernels
=======================

A radial kernel sees only the distance r = ‖x − z‖. How it falls from k(0) = 1 decides what
functions live in its space: smooth or rough ones, with one scale or with many, with a period or
without.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import RBF, Matern, Periodic, RationalQuadratic

kernels = {
    "Matérn ½": Matern(nu=0.5, length_scale=1.0),
    "Matérn 3/2": Matern(nu=1.5, length_scale=1.0),
    "Gaussian": RBF(length_scale=1.0),
    "rational quadratic": RationalQuadratic(alpha=0.3, length_scale=1.0),
    "periodic": Periodic(period=2.0, length_scale=1.0),
    "periodic × Gaussian": Periodic(period=2.0, length_scale=1.0) * RBF(length_scale=3.0),
}

# %%
# Profiles
# --------
# The rougher the functions, the sharper the tip at r = 0. In one dimension Matérn ½ is the
# Laplacian kernel. The rational quadratic mixes Gaussian kernels of all widths, so it has a
# long tail. Kernels multiply: periodic × Gaussian slowly forgets its period.
r = np.linspace(0, 6, 400)
styles = dict(zip(kernels, ["-", "-", "-", "-", "--", "--"], strict=True))
figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
for name, kernel in kernels.items():
    axes.plot(r, kernel(r[:, None], [[0.0]])[:, 0], styles[name], label=name)
axes.set(xlabel="distance r, in length scales", ylabel="k(r)", xlim=(0, 6), ylim=(0, 1.02))
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# Functions
# ---------
# A Gaussian process with covariance k draws functions at random. On a grid of points this is a
# normal vector with covariance K: take K = UΛUᵀ and multiply UΛ^½ with white noise. All six
# panels use the same noise and differ in the kernel only.
x = np.linspace(0, 10, 300)
noise = np.random.default_rng(12).standard_normal((len(x), 3))

figure, panels = plt.subplots(
    2, 3, figsize=(9, 4.6), sharex=True, sharey=True, layout="constrained"
)
for i, (axes, (name, kernel)) in enumerate(zip(panels.flat, kernels.items(), strict=True)):
    values, vectors = np.linalg.eigh(kernel(x[:, None]))
    draws = vectors[:, ::-1] * np.sqrt(values[::-1].clip(0)) @ noise
    for draw, alpha in zip(draws.T, (1.0, 0.6, 0.35), strict=True):
        axes.plot(x, draw, color=f"C{i}", alpha=alpha, lw=1.3)
    axes.set(title=name, ylim=(-3.2, 3.2))
for axes in panels[1]:
    axes.set_xlabel("x")
plt.show()

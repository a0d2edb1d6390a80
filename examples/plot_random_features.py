"""
Random Fourier features
=======================

The Gaussian kernel has no finite feature map, but it has a good random one: m cosines and sines
with frequencies drawn from the kernel's spectral density. Then φ(x)·φ(z) is near k(x, z), with
an error that falls like 1/√m. A linear machine on φ replaces a kernel machine, and n × n is
never needed.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import RBF, Laplacian, Matern, RandomFourierFeatures

X = load_digits().data[:500] / 16
kernels = {
    "Gaussian": RBF("median"),
    "Matérn 3/2": Matern(nu=1.5, gamma="median"),
    "Laplacian": Laplacian("median"),
}
sizes = 2 ** np.arange(3, 12)


# %%
# Seven draws for each number of features; the error is the root mean square over all pairs of
# 500 digits. Heuristic widths are settled on the data, as everywhere.
def error(kernel, size, random_state):
    """Return the root mean square error of the approximation."""
    features = RandomFourierFeatures(kernel, int(size), random_state).features(X)
    return np.sqrt(np.mean((features @ features.T - exact[kernel]) ** 2))


exact = {kernel: kernel(X) for kernel in kernels.values()}
errors = {
    name: np.array([[error(kernel, m, seed) for seed in range(7)] for m in sizes])
    for name, kernel in kernels.items()
}
print("features  " + "  ".join(f"{name:>10}" for name in errors))
for i, m in enumerate(sizes):
    print(f"{m:8d}  " + "  ".join(f"{np.median(e[i]):10.4f}" for e in errors.values()))

# %%
# All three follow the 1/√m line, whatever the dimension of the data (64 here): four times as
# many features for half the error.
figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
for i, (name, e) in enumerate(errors.items()):
    axes.fill_between(sizes, e.min(axis=1), e.max(axis=1), color=f"C{i}", alpha=0.2, lw=0)
    axes.plot(sizes, np.median(e, axis=1), "os^"[i] + "-", color=f"C{i}", ms=5, label=name)
axes.plot(sizes, 1 / np.sqrt(sizes), color="C5", ls="--", label="1/√m")
axes.set(xscale="log", yscale="log", xlabel="number of features m", ylabel="error of k(x, z)")
axes.set_yticks([0.02, 0.05, 0.1, 0.2, 0.4], ["0.02", "0.05", "0.1", "0.2", "0.4"])
axes.yaxis.set_minor_formatter("")
axes.legend()
plt.show()

# %%
# What the features see
# ---------------------
# The approximate kernel values of one digit with all others, against the exact ones.
kernel = kernels["Gaussian"]
row = exact[kernel][0]
figure, panels = plt.subplots(
    1, 3, figsize=(9, 3.5), sharex=True, sharey=True, layout="constrained"
)
for axes, size in zip(panels, (32, 256, 2048), strict=True):
    phi = RandomFourierFeatures(kernel, size).features(X)
    axes.plot([0, 1], [0, 1], color="C5", lw=1, ls="--")
    axes.plot(row, (phi.take([0]) @ phi.T)[0], ".", ms=3)
    axes.set(title=f"m = {size}", xlabel="exact k(x, z)")
panels[0].set_ylabel("approximate")
plt.show()

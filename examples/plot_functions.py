"""
Functions in the space of a kernel
==================================

Every kernel has a space of functions, its RKHS. ``Expansion`` is such a function, f = Σ aᵢ
k(xᵢ, ·). Its norm measures how rough it is, and bounds it everywhere: ∣f(x)∣ ≤ ‖f‖ √k(x, x).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from mercer import RBF, Expansion, Polynomial

# %%
# 442 patients with diabetes: how far did the disease go within a year, given the body mass
# index? The ridge solution a = (K + λI)⁻¹y gives one function for each kernel.
diabetes = load_diabetes(scaled=False)
bmi = diabetes.data[:, [2]]
x = (bmi - bmi.mean()) / bmi.std()
y = (diabetes.target - diabetes.target.mean()) / diabetes.target.std()


def ridge(kernel, penalty=5.0):
    """Return the ridge regression of y on x as a function of the kernel's space."""
    return Expansion(kernel, x, np.linalg.solve(kernel(x) + penalty * np.eye(len(x)), y))


functions = {
    "Gaussian, σ = 0.3": ridge(RBF(sigma=0.3)),
    "Gaussian, σ = 2": ridge(RBF(sigma=2.0)),
    "polynomial of degree 2": ridge(Polynomial(2)),
}
for name, f in functions.items():
    print(f"{name:>23}: ‖f‖ = {f.norm():.2f}")

# %%
# The bound
# ---------
# The band is ±‖f‖√k(x, x). For a Gaussian kernel it is as wide everywhere, since k(x, x) = 1.
# For the polynomial it opens like a parabola: far away its functions may be large. The narrow
# kernel needs a larger norm for its wiggles, and so has a wider band.
grid = np.linspace(-3, 4, 300)[:, None]
figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.4), sharey=True, layout="constrained")
for i, (axes, (name, f)) in enumerate(zip(panels, functions.items(), strict=True)):
    bound = f.norm() * np.sqrt(f.kernel.diag(grid))
    assert (np.abs(f(grid)) <= bound).all()
    axes.plot(x, y, ".", color="C5", ms=3, alpha=0.5)
    axes.fill_between(grid[:, 0], -bound, bound, color=f"C{i}", alpha=0.15, lw=0)
    axes.plot(grid, f(grid), color=f"C{i}", lw=2.2)
    axes.set(title=f"{name}\n‖f‖ = {f.norm():.2f}", xlabel="body mass index (scaled)")
    axes.set(ylim=(-5, 5), xlim=(-3, 4))
panels[0].set_ylabel("progression (scaled)")
plt.show()

# %%
# A vector space
# --------------
# Functions of one kernel can be added and multiplied by numbers, and they have inner products.
# The distance of two functions bounds how much they can differ at any x.
kernel = RBF(sigma=1.0)
half = len(x) // 2
f = Expansion(kernel, x[:half], np.linalg.solve(kernel(x[:half]) + 5 * np.eye(half), y[:half]))
g = Expansion(kernel, x[half:], np.linalg.solve(kernel(x[half:]) + 5 * np.eye(half), y[half:]))
print(f"one half of the patients: ‖f‖ = {f.norm():.2f}, the other: ‖g‖ = {g.norm():.2f}")
print(f"cos(f, g) = {f.inner(g) / (f.norm() * g.norm()):.2f}, ‖f − g‖ = {f.distance(g):.2f}")
print(f"largest |f(x) − g(x)| seen: {np.abs((f - g)(grid)).max():.2f}, not above ‖f − g‖")

# %%
# Distances in feature space
# --------------------------
# ‖φ(x) − φ(z)‖ is how far a kernel holds two points apart. To a Gaussian kernel all far points
# are equally far, at √2; to the linear kernel distance is what it always was.
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
line = np.linspace(-4, 4, 300)[:, None]
for name, kernel in {
    "Gaussian, σ = 0.3": RBF(sigma=0.3),
    "Gaussian, σ = 2": RBF(sigma=2.0),
    "polynomial of degree 2": Polynomial(2, gamma=0.1),
}.items():
    axes.plot(line, kernel.distance(line, [[0.0]]), label=name)
axes.plot(line, np.abs(line), color="C5", ls="--", label="linear: ∣x∣")
axes.axhline(np.sqrt(2), color="C5", lw=1, ls=":")
axes.text(-3.9, 1.48, "√2", color="C5")
axes.set(xlabel="x", ylabel="‖φ(x) − φ(0)‖", ylim=(0, 3), xlim=(-4, 4))
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

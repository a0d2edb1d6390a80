"""
XOR and the feature map
=======================

No line separates the two classes of XOR: equal signs on one side, different signs on the other.
The kernel (1 + ⟨x, z⟩)² is an inner product in six dimensions, and there a plane does it. (Lecture
001, kernel methods; lecture 003, section 12.2.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, Polynomial

X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
y = np.array([1.0, 1.0, -1.0, -1.0])
kernel = Polynomial(degree=2)

# %%
# The six coordinates
# -------------------
# ``features`` writes φ(x) down. Its inner products are the kernel, exactly.
phi = kernel.features(X)
names = ["1", "√2 x₁", "√2 x₂", "x₁²", "√2 x₁x₂", "x₂²"]
print("           x" + "".join(f"{name:>9}" for name in names) + "     class")
for x, row, label in zip(X, phi.toarray(), y, strict=True):
    print(f"{x!s:>12}" + "".join(f"{value:9.2f}" for value in row) + f"{label:10.0f}")
print("largest |φ(x)·φ(z) − k(x, z)|:", np.abs(phi @ phi.T - kernel(X)).max().round(12))

# %%
# A separating plane
# ------------------
# Only the fifth coordinate, √2 x₁x₂, differs between the classes. The hard margin finds it without
# being told. All four points are support vectors with one multiplier, α = 1/8; the weights in the
# six dimensions are w = Σ αᵢyᵢφ(xᵢ), and 2/‖w‖ is the width of the margin there.
machine = SVC(kernel, C=np.inf).fit(X, y)
w = phi.toarray().T @ (y * machine.alpha_)
print("α =", machine.alpha_.round(6), "b =", round(float(machine.intercept_[0]), 9) + 0.0)
print("w =", w.round(3) + 0.0)
print(f"2/‖w‖ = {2 / np.linalg.norm(w):.4f}, margin_ = {machine.margin_:.4f}")
print(machine.certificate_)

# %%
# Left, the plane of the data with f(x) = 0, which is two lines, and f(x) = ±1, on which all four
# points lie. Right, three of the six
# coordinates: the separating plane lies flat between the classes.
figure = plt.figure(figsize=(9, 4.1), layout="constrained")
axes = figure.add_subplot(1, 2, 1)
side = np.linspace(-1.8, 1.8, 200)
grid = np.stack(np.meshgrid(side, side), axis=-1)
values = machine.decision_function(grid.reshape(-1, 2)).reshape(200, 200)
filled = axes.contourf(side, side, values, np.linspace(-3.25, 3.25, 14), cmap="RdBu", alpha=0.75)
axes.contour(side, side, values, [-1, 0, 1], colors="black", linewidths=[0.8, 1.5, 0.8],
             linestyles=["--", "-", "--"])  # fmt: skip
figure.colorbar(filled, ax=axes, label="f(x)", ticks=[-3, -1, 0, 1, 3], shrink=0.9)
groups = [(1, "+1", "C0", "o"), (-1, "−1", "C1", "s")]
for label, _, colour, marker in groups:
    axes.plot(*X[y == label].T, marker, color=colour, ms=11, mec="white", mew=1.5)
axes.set(xlabel="x₁", ylabel="x₂", title="The data", aspect="equal")

space = figure.add_subplot(1, 2, 2, projection="3d")
for label, name, colour, marker in groups:
    part = phi.toarray()[y == label][:, [1, 2, 4]]
    space.scatter(*part.T, color=colour, marker=marker, s=90, depthshade=False, label=name)
    for a, b, c in part:
        space.plot([a, a], [b, b], [0, c], color=colour, lw=1, ls=":")
flat = np.meshgrid([-2, 2], [-2, 2])
space.plot_surface(*flat, np.zeros((2, 2)), color="C5", alpha=0.35)
space.set(xlabel=names[1], ylabel=names[2], zlabel=names[4], title="Three coordinates of φ(x)")
space.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], zticks=[-1, 0, 1])
space.view_init(elev=18, azim=-62)
space.set_box_aspect((1, 1, 0.9), zoom=0.85)
space.legend(title="class", loc="upper left")
plt.show()

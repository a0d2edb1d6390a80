"""
Is it a kernel?
===============

A similarity is a kernel when every matrix K it makes is positive semi-definite. Only then is it
an inner product in some space, and only then are the problems of kernel machines convex. mercer
knows it from the way a kernel is built, and ``check_kernel`` looks at data. (Lecture 003, section
13.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import RBF, FunctionKernel, Sigmoid, check_kernel, load_data, repair

heart = load_data("heart")
X = heart.X[np.argsort(heart.y, kind="stable")]  # the sick come first

# %%
# The sigmoid
# -----------
# tanh(γ⟨x, z⟩ + c) comes from neural networks and is used a lot, but it is no kernel in general.
# With γ = ½ and c = −1 the patients prove it: see the negative eigenvalues, and the pair in the
# circle with ∣k(x, z)∣ > √(k(x, x) k(z, z)), which no inner product has.
report = check_kernel(Sigmoid(gamma=0.5, coef0=-1.0), X)
print(report)
report.plot()
plt.show()

# %%
# Your own function
# -----------------
# This similarity looks harmless: 1 at the same place, falling in a straight line, 0 from a
# distance on. On the line it is a kernel; for patients with 13 measurements it is not. Of a
# plain function mercer claims nothing, the data decide.


def triangle(x, z):
    """Fall linearly with the distance, down to 0."""
    return max(0.0, 1 - np.linalg.norm(x - z) / 4)


print(check_kernel(FunctionKernel(triangle), X))

# %%
# A slip like the next one is found at once. It compares the age of one patient with the blood
# pressure of the other, so it is not even symmetric.


def slip(x, z):
    """Mix up two columns."""
    return float(x[0] * z[3] + x[1:] @ z[1:])


print(check_kernel(FunctionKernel(slip), X))

# %%
# For comparison a true kernel. The report counts as true or false, so it can stand in a test.
report_rbf = check_kernel(RBF(sigma="median"), X)
print(report_rbf)
assert report_rbf

# %%
# Repair
# ------
# If the similarity is worth keeping, its matrix can be repaired: ``clip`` sets negative
# eigenvalues to 0 and changes K least, ``flip`` turns their signs, ``shift`` lifts all of them
# by the same amount. A repair is a change of the kernel. The printed share says how large it
# is.
K = Sigmoid(gamma=0.5, coef0=-1.0)(X)
repairs = [repair(K, method) for method in ("clip", "flip", "shift")]
for fixed in repairs:
    print(fixed)

# %%
figure, panels = plt.subplots(1, 3, figsize=(9, 3.1), sharey=True, layout="constrained")
number = np.arange(1, len(K) + 1)
before = np.linalg.eigvalsh(K)
# Each method is drawn in the order of the eigenvalues before the repair.
lifted = {
    "clip": before.clip(0),
    "flip": np.abs(before),
    "shift": before - before.min(),
}
for axes, fixed in zip(panels, repairs, strict=True):
    after = np.sort(lifted[fixed.method])
    assert np.allclose(after, np.linalg.eigvalsh(fixed.matrix), atol=1e-8)
    axes.axhline(0, color="C5", lw=1)
    axes.plot(number, before[::-1], color="C1", label="before")
    axes.plot(number, lifted[fixed.method][::-1], color="C2", ls="--", label="after")
    axes.set_yscale("symlog", linthresh=1)
    axes.set(title=f"{fixed.method}: K changes by {fixed.change:.0%}", xlabel="number")
panels[0].set_ylabel("eigenvalue")
panels[0].legend(loc="lower left")
plt.show()

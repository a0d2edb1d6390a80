"""
A first look
============

Can thirteen measurements tell who has heart disease? This program looks at 270 patients with a
Gaussian kernel. It checks the kernel, chooses its width on the training patients only, and says
of each held-out patient which group is nearer in feature space.
"""

import sys
import time

import numpy as np

from mercer import RBF, Expansion, Gram, check_kernel, load_data

data = load_data("heart")
X, y = data.X, data.y
classes, counts = np.unique(y, return_counts=True)

print(f"Heart: {data.description}.")
print("The groups: " + ", ".join(f"{n} {c}" for c, n in zip(classes, counts, strict=True)) + ".")

# %%
# Is it a kernel?
# ---------------
# A Gaussian kernel is one by construction. The report looks at the patients as well: symmetry,
# eigenvalues, the Cauchy–Schwarz inequality, and patients whom the kernel cannot tell apart.
print("\nThe kernel, with the median distance as its width:")
print(check_kernel(RBF(sigma="median"), X))

# %%
# Twenty widths, one distance matrix
# ----------------------------------
# All Gaussian kernels look at the same squared distances. ``statistic_bytes`` lets the Gram
# matrix keep them; ``take`` cuts out the patients of a fold, ``with_kernel`` changes the width.
#
# A width is good when the kernel agrees with the diagnosis. With t = 1/n₊ for the sick and
# −1/n₋ for the healthy, tᵀKt is the squared distance between the two groups in feature space;
# divided by the sizes of K and ttᵀ it is their *alignment*, the cosine of the angle between
# them.
gram = Gram(RBF(sigma="median"), X, statistic_bytes=2_000_000)
widths = np.geomspace(0.3, 10, 20)


def alignments(train):
    """Return the kernel–target alignment of every width on the training patients."""
    sick = y[train] == "disease"
    t = np.where(sick, 1 / sick.sum(), -1 / (~sick).sum())
    part = gram.take(train)
    matrices = (part.with_kernel(RBF(sigma=s)).dense() for s in widths)
    return np.array([t @ K @ t / (np.linalg.norm(K) * (t @ t)) for K in matrices])


# %%
# The nearest mean in feature space
# ---------------------------------
# The mean of a group is a function m = Σ k(xᵢ, ·)/n of the kernel's space. The squared distance
# of φ(x) to it is k(x, x) − 2 m(x) + ‖m‖², so only m(x) and ‖m‖ are needed.


def nearest_mean(kernel, train, test):
    """Return the predicted groups of the test patients."""
    scores = []
    for c in classes:
        members = train[y[train] == c]
        mean = Expansion(kernel, X[members], np.full(len(members), 1 / len(members)))
        scores.append(mean(X[test]) - mean.norm() ** 2 / 2)
    return classes[np.argmax(scores, axis=0)]


# %%
# Ten folds
# ---------
# Each fold chooses its width without a look at its own patients. The baseline calls everybody
# by the name of the larger group.
folds = np.random.default_rng(0).permutation(len(X)) % 10
majority = classes[counts.argmax()]
gram.dense()  # the distances are computed here, once
start = time.perf_counter()
curves, chosen, right, baseline = [], [], [], []

print(f"\n{'fold':>4} {'width':>7} {'patients':>9} {'correct':>8} {'baseline':>9}")
for fold in range(10):
    train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
    curves.append(alignments(train))
    chosen.append(widths[curves[-1].argmax()])
    right.append(nearest_mean(RBF(sigma=chosen[-1]), train, test) == y[test])
    baseline.append(y[test] == majority)
    row = f"{fold + 1:>4} {chosen[-1]:>7.2f} {len(test):>9}"
    print(f"{row} {right[-1].mean():>8.0%} {baseline[-1].mean():>9.0%}")
seconds = time.perf_counter() - start

accuracy, guess = np.concatenate(right).mean(), np.concatenate(baseline).mean()
print(f"{'all':>4} {np.median(chosen):>7.2f} {len(X):>9} {accuracy:>8.0%} {guess:>9.0%}")
print(
    f"\nNearest mean: {accuracy:.0%} of held-out patients are right; the larger group: {guess:.0%}."
)
print(f"200 kernel matrices from one distance matrix, and 10 classifiers: {seconds:.1f} s.")

# %%
# How the width was chosen
# ------------------------
# One curve a fold. To a narrow kernel all patients are strangers, to a wide one all look the
# same; the best width lies between. Run ``python examples/first_look.py picture.png`` to keep
# the picture.
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None

if plt is not None:
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axes.plot(widths, np.transpose(curves), color="C0", alpha=0.5, lw=1.2)
    peaks = [curve.max() for curve in curves]
    axes.plot(chosen, peaks, "o", color="C1", label="chosen, one a fold")
    axes.set(xscale="log", xlabel="width σ", ylabel="alignment with the diagnosis")
    axes.legend()
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=150)

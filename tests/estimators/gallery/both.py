"""One program, run with scikit-learn's classes and with mercer's: the same scores and pictures.

A program takes a library, such as ``mercer``, and returns what a reader would look at, by name:
scores, curves, and pictures as arrays. Labels of a picture may differ in a few pixels.
"""

import warnings
from types import SimpleNamespace

import numpy as np
from sklearn import (
    decomposition,
    discriminant_analysis,
    gaussian_process,
    kernel_ridge,
    linear_model,
    mixture,
    model_selection,
    neural_network,
    svm,
)

import mercer

_HOMES = (decomposition, discriminant_analysis, gaussian_process, kernel_ridge, linear_model,
          mixture, model_selection, neural_network, svm)  # fmt: skip
SCIKIT_LEARN = SimpleNamespace(
    **{name: getattr(home, name) for home in _HOMES for name in vars(home) if hasattr(mercer, name)}
)


def run_both(program, noise=0.01):
    """Run a program with both libraries; numbers may differ by a share of the largest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = program(SCIKIT_LEARN), program(mercer)
    assert list(theirs) == list(ours)
    for name, picture in theirs.items():
        compare(name, np.asarray(ours[name]), np.asarray(picture), noise)


def compare(name, mine, picture, noise):
    assert mine.shape == picture.shape, name
    if picture.dtype.kind in "fc":
        worst = np.abs(mine - picture).max() / (np.abs(picture).max() or 1.0)
    else:
        worst = np.mean(mine != picture)
    assert worst <= noise, f"{name} differs by {worst:.2g}"


def plane(X, pixels=40, columns=(0, 1)):
    """Return the points of a picture around rows of two columns."""
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    a, b = (np.linspace(low[j], high[j], pixels) for j in columns)
    return np.column_stack([part.ravel() for part in np.meshgrid(a, b)])


def without_signs(components):
    """Return directions with their largest entry positive: their signs are nobody's choice."""
    largest = np.abs(components).argmax(axis=1)
    return components * np.sign(components[np.arange(len(components)), largest])[:, None]

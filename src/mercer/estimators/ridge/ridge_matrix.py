"""The matrix of a kernel ridge regression: its kernel, its landmarks, its spectrum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mercer._typing import Array, Model
from mercer.gram.base import GramMatrix
from mercer.gram.feature_gram import gram_of
from mercer.gram.scaled import ScaledGram
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.landmarks.landmark_gram import LandmarkGram, approximate
from mercer.solvers.ridge_path import FeatureSpectrum, MatrixSpectrum, RidgePath


@dataclass(frozen=True, eq=False)
class RidgeChoice:
    """A kernel, λ for each target, and the errors of all λ with that kernel, on its landmarks."""

    kernel: Kernel
    alphas: Array
    path: RidgePath
    error: float
    frame: LandmarkGram | None


def frame_of(machine: Model, kernel: Kernel, points: Points) -> LandmarkGram | None:
    """Return the landmarks of a machine, None where it has no approximation."""
    if machine.approximation is None:
        return None
    owner = type(machine).__name__
    objects = machine.kernel_argument.compares_objects
    return approximate(
        kernel, points, machine.approximation, owner, objects=objects, by_passes=True
    )


def matrix_of(kernel: Kernel, points: Points, frame: LandmarkGram | None) -> GramMatrix:
    """Return K as a machine sees it: exact, through features where they are few, or landmarks."""
    if frame is None:
        return gram_of(kernel, points)
    frame.require_room()
    return frame


def spectrum_of(K: GramMatrix, weights: Array) -> MatrixSpectrum | FeatureSpectrum:
    """Return the spectrum of √W K √W, without that matrix where there are few features."""
    phi = K.features()
    if phi is not None:
        dense = phi.toarray() if sparse.issparse(phi) else phi
        return FeatureSpectrum(np.sqrt(weights)[:, None] * dense)
    return MatrixSpectrum(ScaledGram(K, weights).dense())

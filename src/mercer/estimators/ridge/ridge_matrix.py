"""The matrix of a kernel ridge regression: its kernel, its landmarks, its spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from mercer._typing import Array, Model
from mercer.estimators.kernel_argument import GivenFunction, KernelArgument, kernel_argument
from mercer.gram.base import GramMatrix
from mercer.gram.feature_gram import gram_of
from mercer.gram.scaled import ScaledGram
from mercer.kernels import registry
from mercer.kernels.base import Kernel, is_kernel
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


def ridge_argument(machine: Model) -> KernelArgument:
    """Return what a kernel ridge regression, whoever wrote it, was given as ``kernel``.

    Names have the defaults of scikit-learn's pairwise kernels; functions are of two rows.
    """
    kernel, gamma = machine.kernel, machine.gamma
    if callable(kernel) and not is_kernel(kernel):
        params = machine.kernel_params or {}
        rows = partial(pairwise_kernels, metric=kernel, filter_params=True, **params)
        return GivenFunction(rows, "KernelRidge", takes_vectors=True)
    if gamma is None and isinstance(kernel, str) and kernel != "precomputed":
        by_columns = registry.find(kernel).name in ("rbf", "laplacian", "polynomial", "sigmoid")
        gamma = "auto" if by_columns else None
    return kernel_argument(kernel, gamma, machine.degree, machine.coef0, "KernelRidge")

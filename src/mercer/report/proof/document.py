"""The proof that a report carries, as plain data: rows or matrices, and problems with answers."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.gram.feature_gram import gram_of
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.expression import format_kernel
from mercer.kernels.points import Points
from mercer.landmarks.nystrom_kernel import NystromKernel
from mercer.report.proof.kernel_settings import NotOnVectors, settings
from mercer.report.verifier.verdict import FORMAT

Stored = dict[str, Any]


def stored(values: Any) -> Stored:
    """Return an array as text: base64 of its deflated bytes as little-endian float64."""
    array = np.ascontiguousarray(values, dtype="<f8")
    packed = base64.b64encode(zlib.compress(array.tobytes(), 6)).decode("ascii")
    return {"shape": list(array.shape), "data": packed}


def packed_problem(kind: str, arrays: dict[str, Any], **settings: Any) -> Stored:
    """Return a problem as plain data: its arrays as text, and its numbers as they are."""
    return {
        "kind": kind,
        **settings,
        **{name: stored(values) for name, values in arrays.items()},
    }


@dataclass(eq=False)
class Document:
    """What is collected of a machine: samples of rows, Gram matrices on them, problems on those.

    A problem has its ``kind``, the number of its ``gram`` (or of its ``sample``, for weights of
    columns), the ``rows`` that it is about, ``targets``, ``multipliers``, ``biases``, and what its
    formula needs besides: C of each row, ν, ε, λ.
    """

    samples: list[Stored] = field(default_factory=list)
    grams: list[Stored] = field(default_factory=list)
    problems: list[Stored] = field(default_factory=list)
    _known: list[Array] = field(default_factory=list)

    def add_sample(self, values: Array) -> int:
        """Store rows of numbers, each sample once, and return their number."""
        for i, known in enumerate(self._known):
            if known.shape == values.shape and np.array_equal(known, values):
                return i
        self._known.append(values)
        self.samples.append({"values": stored(values)})
        return len(self.samples) - 1

    def add_landmarks(self, kernel: Kernel, landmarks: Points, points: Points) -> int:
        """Store a kernel with its rows below landmarks, or its values between both."""
        both, count = landmarks.join(points), len(landmarks)
        gram: Stored = {"rows": len(both), "text": _text(kernel), "landmarks": count}
        if not self._add_settings(gram, kernel, both):
            pairs = Pairs(both, landmarks, None, np.float64)
            gram["matrix"] = stored(Evaluator(kernel, pairs).dense())
        self.grams.append(gram)
        return len(self.grams) - 1

    def add_gram(self, kernel: Kernel, points: Points) -> int:
        """Store a kernel with its rows, or its matrix where the kernel is not on vectors."""
        if type(kernel) is NystromKernel:
            return self.add_landmarks(kernel.kernel, kernel.points, points)
        gram: Stored = {"rows": len(points), "text": _text(kernel)}
        if not self._add_settings(gram, kernel, points):
            K = gram_of(kernel, points).dense(np.float64)
            gram["matrix"] = stored(((K + K.T) / 2)[np.tril_indices(len(K))])
        self.grams.append(gram)
        return len(self.grams) - 1

    def _add_settings(self, gram: Stored, kernel: Kernel, points: Points) -> bool:
        """Store the settings of a kernel with its samples, if it is one that verifiers know."""
        before = len(self.samples)
        try:
            gram["kernel"] = settings(kernel, points, self.add_sample)
        except NotOnVectors:
            del self.samples[before:], self._known[before:]
            return False
        return True

    def add_problem(self, kind: str, *, arrays: dict[str, Any], **settings: Any) -> None:
        """Store a problem."""
        self.problems.append(packed_problem(kind, arrays, **settings))

    def plain(self) -> dict[str, Any]:
        """Return the proof as plain data for JSON."""
        return {
            "format": FORMAT,
            "samples": self.samples,
            "grams": self.grams,
            "problems": self.problems,
        }


def _text(kernel: Kernel) -> str:
    try:
        return format_kernel(kernel)
    except Exception:  # a kernel of the user's own has no text
        return str(kernel)

"""Passes that are written down, so that a fit which was killed goes on where it was.

A solver is a function of the sums that its passes over the data return. So a checkpoint is a list
of these sums, with those of the pass that is under way: a fit that starts again is given what it
was given before, at once, until the list ends. Solvers know nothing of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer._files import container
from mercer._files.container import Content
from mercer._typing import Array
from mercer.exceptions import InvalidCheckpoint, InvalidModelFile
from mercer.landmarks.passes import Passes, PassSums, PiecewisePasses, Rule, Weighting

SECONDS = 20.0
"""How often a checkpoint is written, at most."""
_SHARE = 0.05
"""The share of the time that may go into writing checkpoints."""
_VERSION = 1
"""Of the layout of the file; another one is refused."""


class CheckpointedPasses(Passes):
    """Passes that keep a checkpoint.

    Parameters
    ----------
    passes : PiecewisePasses
        Who computes.
    path : path
        The file; it is replaced in one step, so that it is always whole.
    identity : mapping
        What the problem depends on, by name: numbers and texts. A file of another problem is
        refused.
    """

    def __init__(
        self, passes: PiecewisePasses, path: str | os.PathLike[str], identity: Mapping[str, Any]
    ) -> None:
        self._passes, self._path, self._identity = passes, path, dict(identity)
        self.rows, self.columns, self.chunks = passes.rows, passes.columns, passes.chunks
        self.constant = passes.constant
        self._known: list[tuple[str, list[Array]]] = []
        self._partial: tuple[str, int, list[Array]] | None = None
        self._next = 0
        self._written, self._pause = time.perf_counter(), SECONDS
        if os.path.exists(path):
            self._load()

    @property
    def evaluations(self) -> int:  # type: ignore[override]
        """Kernel values computed since this fit began or went on."""
        return self._passes.evaluations

    def sums(
        self, V: Array, rule: Rule, precise: bool = False, whitener: Array | None = None
    ) -> PassSums:
        name = f"{type(rule).__name__} {V.shape[1]} {bool(precise)}"
        if whitener is not None:
            name += f" {len(whitener)}"
        known = self._recall(name)
        if known is not None:
            return PassSums(*known)
        done, found = 0, None
        if self._partial is not None and self._partial[0] == name:
            _, done, arrays = self._partial
            found = PassSums(*arrays)
        if done < len(self.chunks):
            for count, part in self._passes.pieces(V, rule, precise, whitener, done):
                found = part if found is None else found + part
                self._partial = name, count, _arrays(found)
                self._write_if_due()
        assert found is not None
        self._note(name, _arrays(found))
        return found

    def square(
        self, V: Array, weighting: Weighting, R: Array, share: float = 1.0, precise: bool = False
    ) -> Array:
        name = f"{type(weighting).__name__} {share!r} {bool(precise)}"
        known = self._recall(name)
        if known is not None:
            return known[0]
        squares = self._passes.square(V, weighting, R, share, precise)
        self._note(name, [squares])
        return squares

    def close(self) -> None:
        """Write down what is known now."""
        self._write()

    def _recall(self, name: str) -> list[Array] | None:
        """Return what a pass has given before; whatever was noted after another pass is dropped."""
        if self._next < len(self._known):
            if self._known[self._next][0] == name:
                self._next += 1
                return self._known[self._next - 1][1]
            del self._known[self._next :]
            self._partial = None
        return None

    def _note(self, name: str, arrays: list[Array]) -> None:
        self._known.append((name, arrays))
        self._next += 1
        self._partial = None
        self._write_if_due()

    def _write_if_due(self) -> None:
        if time.perf_counter() - self._written >= self._pause:
            self._write()

    def _write(self) -> None:
        began = time.perf_counter()
        names, arrays = [], []
        for name, parts in self._known:
            names.append([name, len(parts)])
            arrays += parts
        partial: Any = None
        if self._partial is not None:
            name, done, parts = self._partial
            partial = [name, done, len(parts)]
            arrays += parts
        document = {
            "checkpoint": _VERSION,
            "identity": self._identity,
            "passes": names,
            "partial": partial,
        }
        container.write(self._path, Content(document, arrays))
        self._written = time.perf_counter()
        share = _SHARE if SECONDS > 0 else 1.0
        self._pause = max(SECONDS, (self._written - began) / share - (self._written - began))

    def _load(self) -> None:
        try:
            content = container.read(self._path)
        except InvalidModelFile as error:
            raise InvalidCheckpoint(
                f"{error} Delete it, or give checkpoint= another name."
            ) from None
        document = content.document
        if not isinstance(document, dict) or document.get("checkpoint") != _VERSION:
            raise InvalidCheckpoint(
                f"{os.fspath(self._path)!s} is a file of mercer, but no checkpoint. Give "
                "checkpoint= another name."
            )
        theirs = document.get("identity")
        if theirs != self._identity:
            known = theirs if isinstance(theirs, dict) else {}
            other = [name for name in self._identity if known.get(name) != self._identity[name]]
            raise InvalidCheckpoint(
                f"{os.fspath(self._path)!s} is the checkpoint of another fit: it differs in "
                f"{', '.join(other) or 'its settings'}. Delete it, or give checkpoint= another "
                "name."
            )
        try:
            self._restore(document, [np.array(array) for array in content.arrays])
        except (TypeError, ValueError, KeyError, IndexError, StopIteration):
            raise InvalidCheckpoint(
                f"{os.fspath(self._path)!s} does not hold what a checkpoint holds. Delete it, or "
                "give checkpoint= another name."
            ) from None

    def _restore(self, document: dict[str, Any], arrays: list[Array]) -> None:
        left = iter(arrays)
        for name, count in document["passes"]:
            self._known.append((str(name), [next(left) for _ in range(count)]))
        if document["partial"] is not None:
            name, done, count = document["partial"]
            self._partial = str(name), int(done), [next(left) for _ in range(count)]


def _arrays(found: PassSums) -> list[Array]:
    arrays = [found.products, found.totals]
    return arrays if found.unseen is None else [*arrays, found.unseen]

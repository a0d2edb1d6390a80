"""What the states of a hidden Markov model send out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer._parallel import openmp_after_fork
from mercer._typing import Array, IntArray
from mercer.generative.gaussian import NO_MASS, SHAPES, Gaussians
from mercer.generative.sequences import Sequences, Values

_CLUSTERED = 20_000
"""Rows that are enough to find a start; k-means takes more time than EM where they are more."""


@dataclass(frozen=True, eq=False)
class DiscreteEmissions:
    """Symbols with probabilities, one row for each state."""

    probabilities: Array

    @classmethod
    def random(
        cls, codes: Values, k: int, symbols: int, random: np.random.RandomState
    ) -> DiscreteEmissions:
        """Return the frequencies of the symbols, with random factors for each state."""
        counts = np.bincount(codes[codes >= 0], minlength=symbols) + 1.0
        rows = counts * np.exp(random.normal(scale=0.5, size=(k, symbols)))
        return cls(rows / rows.sum(axis=1, keepdims=True))

    def log_densities(self, codes: Values) -> Array:
        """Return log b(x | state) of each time (rows) and state (columns)."""
        with np.errstate(divide="ignore"):
            # A symbol that is not known says nothing of the state.
            padded = np.vstack([np.log(self.probabilities).T, np.zeros(len(self.probabilities))])
        return np.asarray(padded[codes])

    def maximised(self, codes: Values, states: Array, limit: float) -> DiscreteEmissions:
        """Return the best emissions, given the probabilities of the states at each time."""
        known = codes >= 0
        counts = np.array(
            [
                np.bincount(codes[known], share, minlength=self.probabilities.shape[1])
                for share in states[known].T
            ]
        )
        counts += limit
        return DiscreteEmissions(shares(counts, self.probabilities))

    def scores(self, sequences: Sequences, states: Array, weights: str) -> list[Array]:
        """Return the parts of the Fisher score of each sequence that belong to emissions."""
        codes = sequences.values
        k, symbols = self.probabilities.shape
        known = np.flatnonzero(codes >= 0)
        sequence = np.repeat(np.arange(len(sequences)), sequences.lengths)[known]
        place = sequence * symbols + codes[known]
        size = len(sequences) * symbols
        counts = [np.bincount(place, states[known, i], minlength=size) for i in range(k)]
        table: Array = np.stack([c.reshape(len(sequences), symbols) for c in counts], axis=1)
        return [probability_scores(table, self.probabilities, weights)]

    def log_sum(self) -> float:
        """Return the sum of the logarithms of what smoothing holds off zero."""
        return float(np.log(self.probabilities).sum())

    def sample(self, path: IntArray, random: np.random.RandomState) -> Values:
        """Return random values for a path of states."""
        symbols = self.probabilities.shape[1]
        return np.array([random.choice(symbols, p=self.probabilities[s]) for s in path])

    def parameters(self) -> dict[str, Array]:
        """Return the parameters by the names under which a model publishes them."""
        return {"probabilities_": self.probabilities}


@dataclass(frozen=True, eq=False)
class GaussianEmissions:
    """Vectors of numbers with a Gaussian for each state; methods as those of symbols."""

    means: Array
    covariances: Array
    kind: str

    @classmethod
    def clustered(
        cls, values: Array, k: int, kind: str, floor: float, random: np.random.RandomState
    ) -> GaussianEmissions:
        """Return the Gaussians of k clusters."""
        from sklearn.cluster import KMeans

        few = values
        if len(few) > _CLUSTERED:
            few = values[random.choice(len(values), _CLUSTERED, replace=False)]
        distinct = len(np.unique(few, axis=0))
        with openmp_after_fork():
            labels = KMeans(min(k, distinct), n_init=1, random_state=random).fit(few).labels_
        centre, spread = few.mean(axis=0), few.std(axis=0)
        blank = cls(np.tile(centre, (k, 1)), np.empty(0), kind)
        states = np.eye(k)[labels]
        # A state without a cluster begins anywhere, as wide as the data.
        empty = states.sum(axis=0) == 0
        states[:, empty] = 1 / len(few)
        found = blank.maximised(few, states, floor)
        found.means[empty] += spread * random.normal(size=(int(empty.sum()), len(spread)))
        return found

    def log_densities(self, values: Array) -> Array:
        return self._gaussians().log_densities(values)

    def maximised(self, values: Array, states: Array, limit: float) -> GaussianEmissions:
        totals = states.sum(axis=0) + NO_MASS
        means = states.T @ values / totals[:, None]
        covariances = SHAPES[self.kind].estimate(values, states, totals, means, limit)
        return GaussianEmissions(means, covariances, self.kind)

    def scores(self, sequences: Sequences, states: Array, weights: str) -> list[Array]:
        gaussians, means, spreads = self._gaussians(), [], []
        for k in range(len(self.means)):
            z, share = gaussians.whitened(sequences.values, k), states[:, [k]]
            means.append(sequences.totals(share * gaussians.mean_slopes(z, k)))
            spreads.append(sequences.totals(share * gaussians.kind.slopes(z)))
        return means + ([np.sum(spreads, axis=0)] if gaussians.kind.shared else spreads)

    def log_sum(self) -> float:
        return 0.0

    def sample(self, path: IntArray, random: np.random.RandomState) -> Array:
        noise = random.standard_normal((len(path), self.means.shape[1]))
        gaussians = self._gaussians()
        rows = [gaussians.coloured(noise[t : t + 1], s) for t, s in enumerate(path)]
        return np.concatenate(rows) if len(rows) else noise

    def parameters(self) -> dict[str, Array]:
        return {"means_": self.means, "covariances_": self.covariances}

    def _gaussians(self) -> Gaussians:
        return Gaussians(self.means, self.covariances, self.kind)


Emissions: TypeAlias = DiscreteEmissions | GaussianEmissions
"""The densities b(x | state)."""


def shares(counts: Array, otherwise: Array) -> Array:
    """Return rows of counts divided by their sums, and other rows where nothing was counted."""
    totals = counts.sum(axis=-1, keepdims=True)
    safe = np.where(totals > 0, totals, 1.0)
    return np.where(totals > 0, counts / safe, otherwise)


def probability_scores(counts: Array, probabilities: Array, weights: str) -> Array:
    """Return the scores of rows of probabilities from expected counts (object, row, column)."""
    if weights == "softmax":
        scores = counts - counts.sum(axis=2, keepdims=True) * probabilities
    else:
        scores = np.divide(counts, probabilities, out=np.zeros_like(counts), where=counts > 0)
    return np.asarray(scores).reshape(len(counts), -1)

"""Hidden Markov models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer import _fast
from mercer._files.fields import A, Maybe, Numbers, State, WrongState
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, IntArray, Objects, Seed, Targets
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.generative.chain import Chain, Posterior, chain_of, posterior_of, stochastic
from mercer.generative.emissions import (
    DiscreteEmissions,
    Emissions,
    GaussianEmissions,
    probability_scores,
    shares,
)
from mercer.generative.expectation_maximisation import FIT, FittedByEM
from mercer.generative.gaussian import SHAPES, check_axes, check_covariances, variance_floor
from mercer.generative.sequences import Sequences, Values, read_series, read_symbols


class HiddenMarkovModel(FittedByEM):
    """Hidden Markov model of sequences, fitted by EM in the log domain.

    p(x) = Σ_s π(s₀) b(x₀ | s₀) Π_t a(s_t | s_{t−1}) b(x_t | s_t), over all paths s of states

    X is a list of sequences of any lengths. With ``emissions="gaussian"`` they are series of
    numbers, as the kernels of series take them; with ``"discrete"`` strings, or lists of symbols.

    Parameters
    ----------
    n_states : int
        The number of hidden states.
    emissions : {"gaussian", "discrete"}
        What a state sends out: vectors of numbers, or symbols.
    covariance_type : {"full", "tied", "diag", "spherical"}
        The shape of the covariances of Gaussian emissions.
    floor : float
        The smallest eigenvalue of a covariance, as a fraction of the mean variance of the data.
    smoothing : float
        A pseudo-count that every start, transition and symbol gets, so that what was never seen
        stays possible. EM then raises the likelihood times Π θ^smoothing.
    alphabet : sequence, optional
        The symbols that there are; by default those of the training sequences.
    unknown : {"error", "skip"}
        What to do with a symbol outside the alphabet: raise, or take it as not seen.
    time : {"last", "first"}
        Whether an array of a series with several channels is (channels, time) or (time, channels).
    tol : float
        It ends when a step gains less than this in the mean log-likelihood.
    max_iter : int
        The most steps of EM.
    n_init : int
        The number of starts; the best result stays.
    random_state : int, RandomState or None
        Of the starts.

    Attributes
    ----------
    start_, transitions_ : array
        π of each state; a, one row for each state that is left.
    probabilities_ : array
        Of discrete emissions: b, one row for each state, one column for each symbol.
    means_, covariances_ : array
        Of Gaussian emissions.
    alphabet_ : tuple
        The symbols, in the order of the columns of ``probabilities_``.
    converged_ : bool
        Whether the last step gained less than ``tol`` for each time.
    trace_ : array
        The objective, divided by the number of times, before the first step and after every step.

    References
    ----------
    Rabiner, A tutorial on hidden Markov models and selected applications in speech recognition,
    1989.

    Examples
    --------
    >>> from mercer import HiddenMarkovModel
    >>> texts = ["aaaaabbbbb", "aaaabbbbbb", "aaaaaabbbb"]
    >>> model = HiddenMarkovModel(2, emissions="discrete", random_state=0).fit(texts)
    >>> likely, unlikely = model.score_samples(["aaabbb", "ababab"])
    >>> bool(likely > unlikely)
    True
    """

    STATE: ClassVar[State] = {
        **FIT,
        "start_": Numbers("states", low=0),
        "transitions_": Numbers("states", "states", low=0),
        "probabilities_": Maybe(Numbers("states", "symbols", low=0)),
        "alphabet_": Maybe(A(tuple, size="symbols")),
        "means_": Maybe(Numbers("states", "features")),
        "covariances_": Maybe(A(object)),
    }

    def check_state(self) -> None:
        """Raise where the parameters are not those of a hidden Markov model."""
        chain = self.start_, self.transitions_
        if self.emissions == "gaussian":
            check_axes(self.covariances_, self.covariance_type)
            HiddenMarkovModel.gaussian(
                *chain, self.means_, self.covariances_, self.covariance_type, self.time
            )
        else:
            if not all(isinstance(symbol, str | int) for symbol in self.alphabet_):
                raise WrongState("its alphabet is not made of symbols")
            HiddenMarkovModel.discrete(*chain, self.probabilities_, self.alphabet_)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "emissions": [StrOptions({"gaussian", "discrete"})],
        "covariance_type": [StrOptions(set(SHAPES))],
        "floor": [Interval(Real, 0.0, None, closed="neither")],
        "smoothing": [Interval(Real, 0.0, None, closed="left")],
        "alphabet": [None, str, list, tuple],
        "unknown": [StrOptions({"error", "skip"})],
        "time": [StrOptions({"last", "first"})],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_states: int = 2,
        *,
        emissions: str = "gaussian",
        covariance_type: str = "diag",
        floor: float = 1e-6,
        smoothing: float = 0.01,
        alphabet: Sequence[Any] | None = None,
        unknown: str = "error",
        time: str = "last",
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 3,
        random_state: Seed = None,
    ) -> None:
        self.n_states = n_states
        self.emissions = emissions
        self.covariance_type = covariance_type
        self.floor = floor
        self.smoothing = smoothing
        self.alphabet = alphabet
        self.unknown = unknown
        self.time = time
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state

    @classmethod
    def discrete(
        cls,
        start: ArrayLike,
        transitions: ArrayLike,
        probabilities: ArrayLike,
        alphabet: Sequence[Any],
        unknown: str = "error",
    ) -> HiddenMarkovModel:
        """Return the model of symbols with given parameters, as if it had been fitted."""
        pi, A = chain_of(start, transitions)
        B = stochastic(probabilities, (len(pi), len(alphabet)), "probabilities")
        model = cls(len(pi), emissions="discrete", alphabet=alphabet, unknown=unknown)
        model._publish(Chain(pi, A, DiscreteEmissions(B)))
        model.alphabet_ = tuple(alphabet)
        return model

    @classmethod
    def gaussian(
        cls,
        start: ArrayLike,
        transitions: ArrayLike,
        means: ArrayLike,
        covariances: ArrayLike,
        covariance_type: str = "diag",
        time: str = "last",
    ) -> HiddenMarkovModel:
        """Return the model of series with given parameters, as if it had been fitted."""
        pi, A = chain_of(start, transitions)
        mu = np.asarray(means, dtype=np.float64)
        if mu.ndim != 2 or len(mu) != len(pi) or not np.isfinite(mu).all():
            raise InvalidParameter("HiddenMarkovModel: means has to be a table, one state a row.")
        k, d = mu.shape
        sigma = check_covariances(covariances, covariance_type, k, d, "HiddenMarkovModel")
        model = cls(len(pi), covariance_type=covariance_type, time=time)
        model._publish(Chain(pi, A, GaussianEmissions(mu, sigma, covariance_type)))
        return model

    @property
    def takes(self) -> str:
        """What the sequences are: "series" or "strings"."""
        return "series" if self.emissions == "gaussian" else "strings"

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Fit the model by EM from ``n_init`` starts."""
        if self.emissions == "discrete":
            sequences, alphabet = read_symbols(X, self.alphabet, self.unknown, "HiddenMarkovModel")
        else:
            sequences, alphabet = read_series(X, self.time, "HiddenMarkovModel"), ()
        times = len(sequences.values)
        if times == 0:
            raise InvalidInput(
                "HiddenMarkovModel: all sequences are empty; there is nothing to learn."
            )

        def step(model: Chain) -> tuple[float, Callable[[], Chain]]:
            posterior = posterior_of(model, sequences)
            total = posterior.log_likelihoods.sum() + self._log_prior(model)
            return float(total / times), lambda: self._maximise(model, sequences, posterior)

        self._publish(self._fit_by_em(self._starts(sequences, len(alphabet)), step))
        if alphabet:
            self.alphabet_ = alphabet
        return self

    def score_samples(self, X: Objects) -> Array:
        """Return log p(x) of each sequence; −∞ for one that the model cannot make."""
        sequences, model = self._read(X), self._model()
        out = np.empty(len(sequences))
        log_b = model.emissions.log_densities(sequences.values)
        _fast.forward_backward.log_likelihoods(
            log_b, sequences.starts, sequences.lengths, *model.logs(), out
        )
        return out

    def predict(self, X: Objects) -> list[IntArray]:
        """Return the likeliest path of states of each sequence."""
        sequences, model = self._read(X), self._model()
        path = np.empty(len(sequences.values), dtype=np.int64)
        log_b = model.emissions.log_densities(sequences.values)
        _fast.forward_backward.best_paths(
            log_b, sequences.starts, sequences.lengths, *model.logs(), path
        )
        return sequences.split(path)

    def predict_proba(self, X: Objects) -> list[Array]:
        """Return, for each sequence, the probability of each state (columns) at each time."""
        sequences = self._read(X)
        return sequences.split(posterior_of(self._model(), sequences).states)

    def sample(self, n_samples: int = 1, length: int = 20) -> tuple[list[Any], list[IntArray]]:
        """Return random sequences of a length, and the path of states of each."""
        random, model = check_random_state(self.random_state), self._model()
        sequences, paths = [], []
        for _ in range(n_samples):
            path = np.empty(length, dtype=np.int64)
            chances = model.start
            for t in range(length):
                path[t] = random.choice(len(chances), p=chances)
                chances = model.transitions[path[t]]
            sequences.append(self._written(model.emissions.sample(path, random)))
            paths.append(path)
        return sequences, paths

    # ---- scores ------------------------------------------------------------------------------

    def fisher_scores(self, X: Objects, weights: str = "softmax") -> Array:
        """Return ∇ log p(x) for the parameters, one row for each sequence.

        The parameters are, in this order, the logits of the start, of each row of the transitions,
        and of each row of the probabilities of symbols, whose rows are softmax functions of them
        (with ``weights="plain"`` the probabilities themselves, as if they were free); in place of
        symbols, the means and the logarithms of the covariances of Gaussian emissions, as in
        :meth:`GaussianMixture.fisher_scores`.
        """
        sequences, model = self._read(X), self._model()
        posterior = posterior_of(model, sequences)
        bad = np.flatnonzero(np.isneginf(posterior.log_likelihoods))
        if bad.size:
            raise InvalidInput(
                f"HiddenMarkovModel: sequence {bad[0]} has probability 0 under the model, so its "
                "score does not exist. Fit with smoothing > 0."
            )
        first = np.zeros((len(sequences), len(model.start)))
        there = np.flatnonzero(sequences.lengths)
        first[there] = posterior.states[sequences.starts[there]]
        chain = [
            probability_scores(first[:, None, :], model.start[None, :], weights),
            probability_scores(posterior.moves, model.transitions, weights),
        ]
        seen = model.emissions.scores(sequences, posterior.states, weights)
        return np.hstack([*chain, *seen])

    def fisher_information(self) -> None:
        """Return None: E[uuᵀ] has no closed form here."""
        return

    # ---- helpers -----------------------------------------------------------------------------

    def _read(self, X: Objects) -> Sequences:
        check_is_fitted(self, "transitions_")
        owner = "HiddenMarkovModel"
        if self.emissions == "discrete":
            return read_symbols(X, self.alphabet_, self.unknown, owner)[0]
        sequences = read_series(X, self.time, owner)
        if sequences.values.shape[1] != self.means_.shape[1]:
            raise InvalidInput(
                f"{owner}: the sequences have {sequences.values.shape[1]} channels, the model has "
                f"{self.means_.shape[1]}."
            )
        return sequences

    def _written(self, values: Values) -> Objects:
        """Return a sequence in the form in which it would be given."""
        if self.emissions == "gaussian":
            return values.T if self.time == "last" else values
        symbols = [self.alphabet_[code] for code in values]
        return "".join(symbols) if all(isinstance(s, str) for s in symbols) else symbols

    def _log_prior(self, model: Chain) -> float:
        if not self.smoothing:
            return 0.0
        logs = np.log(model.start).sum() + np.log(model.transitions).sum()
        return float(self.smoothing * (logs + model.emissions.log_sum()))

    def _maximise(self, model: Chain, sequences: Sequences, posterior: Posterior) -> Chain:
        there = np.flatnonzero(sequences.lengths)
        first = posterior.states[sequences.starts[there]].sum(axis=0)
        return Chain(
            shares(first + self.smoothing, model.start),
            shares(posterior.moves.sum(axis=0) + self.smoothing, model.transitions),
            model.emissions.maximised(sequences.values, posterior.states, self._limit(sequences)),
        )

    def _limit(self, sequences: Sequences) -> float:
        """Return what holds emissions off their borders: a pseudo-count, or a floor."""
        if self.emissions == "discrete":
            return float(self.smoothing)
        return variance_floor(sequences.values, self.floor)

    def _starts(self, sequences: Sequences, symbols: int) -> Iterator[Chain]:
        random = check_random_state(self.random_state)
        k, limit = self.n_states, self._limit(sequences)
        for _ in range(self.n_init):
            emissions: Emissions
            if symbols:
                emissions = DiscreteEmissions.random(sequences.values, k, symbols, random)
            else:
                emissions = GaussianEmissions.clustered(
                    sequences.values, k, self.covariance_type, limit, random
                )
            start, moves = random.dirichlet(np.full(k, 5.0)), random.dirichlet(np.full(k, 5.0), k)
            yield Chain(start, (moves + np.eye(k)) / 2, emissions)

    def _model(self) -> Chain:
        check_is_fitted(self, "transitions_")
        emissions: Emissions
        if self.emissions == "discrete":
            emissions = DiscreteEmissions(self.probabilities_)
        else:
            emissions = GaussianEmissions(self.means_, self.covariances_, self.covariance_type)
        return Chain(self.start_, self.transitions_, emissions)

    def _publish(self, model: Chain) -> None:
        self.start_, self.transitions_ = model.start, model.transitions
        for name, value in model.emissions.parameters().items():
            setattr(self, name, value)

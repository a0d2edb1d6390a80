"""Attacks on published answers: whatever is done to one, its certificate does not lie.

Each number that a convex machine publishes is spoilt in turn, and the machine is judged by
``certify`` on the data of its fit. What comes out holds the optimum, and is not called optimal
unless the spoilt answer is as good as that.
"""

import copy
import warnings

import numpy as np
import pytest

import mercer
from mercer import certify
from mercer.problems.certificate import OPTIMAL_GAP
from tests.estimators.test_judged import CLASSES, MACHINES, NUMBERS, WEIGHTS, X

PUBLISHED = ("dual_coef_", "coef_", "intercept_", "alpha_", "multipliers_", "weights_", "all")
"""The attributes that a judge reads, one at a time and together."""
MORE = [
    *((mercer.NormRegressor(p, radius=0.5, ball=q), NUMBERS) for p, q in ((2, 2), (1, 1))),
    (mercer.NormRegressor(np.inf, radius=0.3, ball=np.inf), NUMBERS),
    *((mercer.PenaltyRegressor(name), NUMBERS) for name in ("quantile", mercer.LogBarrier(50.0))),
    (mercer.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1), NUMBERS),
    (mercer.MultipleKernelClassifier([mercer.RBF(), mercer.Linear()], method="lp"), CLASSES),
]  # fmt: skip
ALL = [*MACHINES, *MORE]
PLACES = [
    pytest.param(number, name, id=f"{machine!r:.60}-{name}")
    for number, (machine, _) in enumerate(ALL)
    for name in PUBLISHED
]
_fitted = {}


@pytest.fixture(autouse=True)
def _calm():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fitted(number):
    """Return a machine, its training data, and what certify says of it."""
    if number not in _fitted:
        machine, y = ALL[number]
        unweighted = ("Laplacian", "Gaussian", "Norm", "Penalty")
        weights = None if type(machine).__name__.startswith(unweighted) else WEIGHTS
        given = {} if weights is None else {"sample_weight": weights}
        model = copy.copy(machine).fit(X, y, **given)
        _fitted[number] = model, (X, y, weights), certify(model, X, y, weights)
    return _fitted[number]


def spoil(values, rng):
    """Return numbers of which one, some or all were changed."""
    spoilt = np.array(values, dtype=float, order="C")  # or the flat one would be a copy
    flat = spoilt.reshape(-1)
    size = 10.0 ** rng.uniform(-3, 1.5)
    kind = rng.integers(6)
    at = rng.integers(len(flat))
    if kind == 0:
        flat[at] += size * rng.choice([-1, 1])
    elif kind == 1:
        flat *= 1 + size * rng.choice([-1, 1])
    elif kind == 2:
        flat[:] = rng.permutation(flat)
    elif kind == 3:
        flat += size * rng.standard_normal(len(flat))
    elif kind == 4:
        flat[:] = 0.0
    else:
        flat[at] = rng.choice([np.nan, np.inf, 1e300, -1e160])
    return spoilt if np.ndim(values) else float(spoilt)


def attack(number, name, seeds):
    """Spoil an attribute in some ways; return how many of the answers were not optimal any more.

    None where there is no such attribute, or where it repeats others that make up the answer: then
    neither the judge nor a prediction reads it.
    """
    model, data, before = fitted(number)
    numbers = {
        each: vars(model)[each]
        for each in PUBLISHED
        if name in (each, "all") and vars(model).get(each) is not None
    }
    if not type(model).__name__.startswith("Gaussian"):
        numbers.pop("alpha_", None)  # the penalty, and no answer
    if not numbers:
        return None  # it has none, or makes them from others, as the weights of a linear kernel
    seen, read = 0, False
    for seed in seeds:
        broken = copy.copy(model)
        rng = np.random.default_rng((number, seed))
        for each, values in numbers.items():
            setattr(broken, each, spoil(values, rng))
        try:
            after = certify(broken, *data)
        except ValueError:  # refused with a word
            seen, read = seen + 1, True
            continue
        read |= (after.primal, after.dual) != (before.primal, before.dual)
        note = (seed, before, after)
        assert not after.bounds or after.lower <= before.upper, note
        assert not after.bounds or after.upper >= before.lower, note
        worst = (1 + 2 * OPTIMAL_GAP) * abs(before.upper) + 2 * (before.rounding or 1e-6)
        assert not after.optimal or after.primal <= worst, note
        seen += not after.optimal
        assert read or np.array_equal(broken.predict(data[0]), model.predict(data[0])), note
    return seen if read else None


@pytest.mark.parametrize(("number", "name"), PLACES)
def test_spoilt_answers_show(number, name):
    attack(number, name, range(2))


@pytest.mark.attack
@pytest.mark.parametrize(("number", "name"), PLACES)
def test_many_spoilt_answers_show(number, name):
    seen = attack(number, name, range(2, 102))
    assert seen is None or seen >= 30


def test_biases_of_a_problem_without_them_are_refused():
    model = mercer.SVC(multi_class="crammer_singer").fit(X, CLASSES)
    model.intercept_ = model.intercept_ + 0.5  # predictions would not be those of the problem
    with pytest.raises(ValueError, match="has no biases, and intercept_ is"):
        certify(model, X, CLASSES)


@pytest.mark.parametrize("number", range(len(ALL)), ids=lambda number: f"{ALL[number][0]!r:.60}")
def test_a_moved_answer_breaks_the_optimality_conditions(number):
    model, data, before = fitted(number)
    names = ["dual_coef_", "multipliers_", "coef_", "alpha_"]
    if getattr(model, "penalty", None) == "l1":  # its judge has multipliers of its own
        names.remove("dual_coef_")
    name = next(name for name in names if vars(model).get(name) is not None)
    values, broken = np.array(vars(model)[name], dtype=float), copy.copy(model)
    noise = np.random.default_rng(number).standard_normal(values.shape)
    setattr(broken, name, values + 0.3 * (np.abs(values).max() or 1.0) * noise)
    after = certify(broken, *data)
    # Multipliers that a judge makes itself are stationary, and do not fit the residuals.
    broken_by, kept_by = (max(c.stationarity, c.complementarity) for c in (after, before))
    assert broken_by > 10 * kept_by + 1e-6

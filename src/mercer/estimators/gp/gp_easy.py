"""A Gaussian process in one call, with defaults that suit most data."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils import check_random_state

from mercer._deprecated import renamed
from mercer._typing import Objects, Seed, Targets
from mercer.estimators.gp.gaussian_process import GaussianProcessRegressor
from mercer.estimators.gp.gp_kernels import unlearnt_parameters
from mercer.exceptions import InvalidInput, MercerError
from mercer.kernels.base import Kernel
from mercer.kernels.vectors.constant import White
from mercer.kernels.vectors.radial import RBF


@renamed(starts="n_init")
def GP(
    X: Objects,
    y: Targets,
    kernel: Kernel | None = None,
    *,
    n_init: int = 3,
    random_state: Seed = 0,
) -> GaussianProcessRegressor:
    """Fit a Gaussian process with defaults that suit most data.

    Targets are scaled, the noise is learnt, the widths start at the spreads of the columns (one for
    each of up to 20 columns), and the ascent starts several times. Parameters without a derivative
    of the evidence, such as the width of ``GaussianBasis``, are searched one after the other, by
    factors that get smaller.

    Parameters
    ----------
    X, y
        The data.
    kernel : Kernel, optional
        Needed where ``X`` is not a matrix of numbers; add ``White()`` to learn the noise.
    n_init : int
        How often the evidence is climbed.
    random_state : int, RandomState or None
        Of the starts after the first.

    Returns
    -------
    GaussianProcessRegressor
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GP
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = GP(x, np.sin(x).ravel())
    >>> mean, std = model.predict([[3.1], [60.0]], return_std=True)
    >>> mean[:1].round(2), bool(std[1] > 10 * std[0])  # far away it knows that it knows nothing
    (array([0.04]), True)
    """
    if kernel is None:
        kernel = _kernel_for(X)
    elif not any(name.rpartition("__")[2] == "noise" for name in kernel.free_parameters()):
        kernel = kernel + White(0.1)
    best: GaussianProcessRegressor | None = None
    random = check_random_state(random_state)
    limits = kernel.parameter_limits(kernel.encode(X)) if n_init > 1 else {}
    for start in range(max(1, n_init)):
        begun = kernel
        if start:
            values = kernel.free_parameters()
            begun = kernel.with_parameters(
                {
                    name: min(value * np.exp(random.normal()), limits.get(name, np.inf))
                    for name, value in values.items()
                }
            )
        model = _fitted(begun, X, y)
        value = model.log_marginal_likelihood_value_
        if best is None or value > best.log_marginal_likelihood_value_:
            best = model
    assert best is not None
    for name in unlearnt_parameters(best.kernel_):
        best = _searched(best, name, X, y)
    return best


_FACTORS = (2.0, 1.4, 1.2, 1.1)
"""By which a parameter without derivative is changed: each while it helps, then the next."""


def _fitted(kernel: Kernel, X: Objects, y: Targets) -> GaussianProcessRegressor:
    with warnings.catch_warnings():
        # flat_parameters says what is flat.
        warnings.simplefilter("ignore")
        return GaussianProcessRegressor(kernel, normalize_y=True, alpha=1e-8).fit(X, y)


def _searched(
    best: GaussianProcessRegressor, name: str, X: Objects, y: Targets
) -> GaussianProcessRegressor:
    """Return the process after a search for the parameter of the highest evidence."""
    for factor in _FACTORS:
        for change in (factor, 1 / factor):
            while True:
                value = best.kernel_.get_params()[name] * change
                try:
                    model = _fitted(best.kernel_.replace(**{name: value}), X, y)
                except MercerError:  # no value of this parameter, or none for these data
                    break
                if not model.log_marginal_likelihood_value_ > best.log_marginal_likelihood_value_:
                    break
                best = model
    return best


_MOST_WIDTHS = 20
"""Columns up to which each has a width of its own: each is one more parameter to learn."""


def _kernel_for(X: Objects) -> Kernel:
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2 or not rows.size:
        raise InvalidInput(
            "GP: X is not a matrix of numbers. Say how to compare the objects: GP(X, y, kernel)."
        )
    spreads = rows.std(axis=0)
    spreads = np.where(spreads > 0, spreads, 1.0) * np.sqrt(rows.shape[1])
    one_width = len(spreads) > _MOST_WIDTHS or len(spreads) == 1
    widths = float(np.median(spreads)) if one_width else [float(s) for s in spreads]
    return 1.0 * RBF(length_scale=widths) + White(0.1)

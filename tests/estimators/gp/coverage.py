"""How often intervals of 95 % hold new values: ``python -m tests.estimators.gp.coverage 1000``."""

import sys

import numpy as np

from mercer import RBF, GaussianProcessRegressor, White

KERNEL = 2.0 * RBF(length_scale=0.5) + White(0.1)
START = 1.0 * RBF(length_scale=1.0) + White(0.5)


def covered(sets, rows=200, new=20, seed=0):
    """Return the share of new values inside, over data sets drawn from the prior.

    Each has its own data and learns the width, the size and the noise from a wrong start.
    """
    random = np.random.default_rng(seed)
    inside = []
    for _ in range(sets):
        X = random.uniform(-3, 3, (rows + new, 1))
        y = np.linalg.cholesky(KERNEL(X)) @ random.standard_normal(rows + new)
        model = GaussianProcessRegressor(START).fit(X[:rows], y[:rows])
        mean, std = model.predict(X[rows:], return_std=True)
        inside.append(np.abs(y[rows:] - mean) < 1.959964 * std)
    return float(np.mean(inside))


if __name__ == "__main__":
    print(f"{100 * covered(int(sys.argv[1])):.2f} % covered")

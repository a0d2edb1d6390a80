"""Gaussian process regression, ARD RBF and noise, against scikit-learn and GPyTorch.

Everybody starts from the same parameters and stops by rules as strict as their defaults. GPyTorch
works in float64 with Cholesky factors and L-BFGS with strong Wolfe steps on the logarithms of its
parameters: with softplus, its default, it takes half as many steps again and stops 3 nats lower.
"""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

COLUMNS = 5
EQUAL = 0.01
"""Nats between evidences that count as equal; nobody could tell the models apart."""


@cache
def _data(rows):
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, (rows, COLUMNS))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * random.standard_normal(rows)
    return X, (y - y.mean()) / y.std()


def _mercer(rows):
    from mercer import RBF, GaussianProcessRegressor, White

    X, y = _data(rows)
    kernel = 1.0 * RBF(length_scale=[1.0] * COLUMNS) + White(0.1)
    return lambda: GaussianProcessRegressor(kernel).fit(X, y).log_marginal_likelihood_value_


def _sklearn(rows):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    X, y = _data(rows)
    kernel = 1.0 * RBF([1.0] * COLUMNS) + WhiteKernel(0.1)
    return lambda: GaussianProcessRegressor(kernel).fit(X, y).log_marginal_likelihood_value_


def _gpytorch(rows):
    import gpytorch
    import torch

    X, y = (torch.tensor(part, dtype=torch.float64) for part in _data(rows))

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            inner = gpytorch.kernels.RBFKernel(ard_num_dims=COLUMNS)
            self.covar_module = gpytorch.kernels.ScaleKernel(inner)

        def forward(self, x):
            mean, covariance = self.mean_module(x), self.covar_module(x)
            return gpytorch.distributions.MultivariateNormal(mean, covariance)

    def by_logarithm(low):
        return gpytorch.constraints.GreaterThan(low, transform=torch.exp, inv_transform=torch.log)

    def call():
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        model = Model(likelihood)
        model.covar_module.register_constraint("raw_outputscale", by_logarithm(0.0))
        model.covar_module.base_kernel.register_constraint("raw_lengthscale", by_logarithm(0.0))
        likelihood.noise_covar.register_constraint("raw_noise", by_logarithm(1e-4))
        model.double()
        model.covar_module.outputscale = 1.0
        model.covar_module.base_kernel.lengthscale = 1.0
        likelihood.noise = 0.1
        model.train()
        objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        climb = torch.optim.LBFGS(
            model.parameters(), max_iter=200, line_search_fn="strong_wolfe", tolerance_grad=1e-5
        )

        def closure():
            climb.zero_grad()
            loss = -objective(model(X), y)
            loss.backward()
            return loss

        # Cholesky at every size: exact values and gradients.
        with gpytorch.settings.max_cholesky_size(10**6):
            climb.step(closure)
            return objective(model(X), y).item() * len(y)

    return call


def _as_good(values):
    ours = values[OURS]
    best = max(values.values())
    if ours < best - EQUAL:
        raise Disagreement(f"our evidence is {ours:.4f}, the best {best:.4f}")
    return "Evidence: " + ", ".join(f"{name} {value:.4f}" for name, value in values.items())


def _cases(scale):
    makers = {OURS: _mercer, "scikit-learn": _sklearn, "GPyTorch": _gpytorch}
    sizes = [max(60, scaled(rows, scale)) for rows in (1_000, 2_000)]
    return [
        InProcess(
            label=f"GP, ARD RBF + noise, {rows:,} × {COLUMNS}",
            contenders={name: partial(make, rows) for name, make in makers.items()},
            check=_as_good,
            scale=scale,
        )
        for rows in sizes
    ]


JOB = Job("gaussian_process", "GP regression, ARD, 1,000 and 2,000 rows", _cases, repeats=3)

"""GPyTorch's exact Gaussian process with the face of an estimator.

It works as in the job ``gaussian_process``: float64, Cholesky factors, L-BFGS with strong Wolfe
steps on the logarithms of the parameters, and the same start as everybody.
"""

from typing import Any, Self


class ExactRegressor:
    """A width for each column, a scale and noise, all by maximum evidence."""

    def __init__(self, columns: int) -> None:
        import gpytorch

        self.columns = columns
        self.gpytorch = gpytorch

    def fit(self, X: Any, y: Any) -> Self:
        """Climb the evidence."""
        import torch

        gpytorch = self.gpytorch
        rows, targets = (torch.tensor(part, dtype=torch.float64) for part in (X, y))
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()
        self.model = _model(gpytorch, rows, targets, self.likelihood, self.columns)
        self.model.train()
        objective = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)
        climb = torch.optim.LBFGS(
            self.model.parameters(),
            max_iter=200,
            line_search_fn="strong_wolfe",
            tolerance_grad=1e-5,
        )

        def closure() -> Any:
            climb.zero_grad()
            loss = -objective(self.model(rows), targets)
            loss.backward()
            return loss

        # Cholesky at every size: exact values and gradients.
        with gpytorch.settings.max_cholesky_size(10**6):
            climb.step(closure)
            value = objective(self.model(rows), targets).item()
        self.log_marginal_likelihood_value_ = value * len(y)
        return self

    def predict(self, X: Any, return_std: bool = True) -> tuple[Any, Any]:
        """Return means and standard deviations."""
        import torch

        self.model.eval()
        self.likelihood.eval()
        with torch.no_grad(), self.gpytorch.settings.max_cholesky_size(10**6):
            said = self.likelihood(self.model(torch.tensor(X, dtype=torch.float64)))
            return said.mean.numpy(), said.stddev.numpy()


def _model(gpytorch: Any, rows: Any, targets: Any, likelihood: Any, columns: int) -> Any:
    import torch

    class Model(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(rows, targets, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            inner = gpytorch.kernels.RBFKernel(ard_num_dims=columns)
            self.covar_module = gpytorch.kernels.ScaleKernel(inner)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    def by_logarithm(low: float) -> Any:
        return gpytorch.constraints.GreaterThan(low, transform=torch.exp, inv_transform=torch.log)

    model = Model()
    model.covar_module.register_constraint("raw_outputscale", by_logarithm(0.0))
    model.covar_module.base_kernel.register_constraint("raw_lengthscale", by_logarithm(0.0))
    likelihood.noise_covar.register_constraint("raw_noise", by_logarithm(1e-4))
    model.double()
    model.covar_module.outputscale = 1.0
    model.covar_module.base_kernel.lengthscale = 1.0
    likelihood.noise = 0.1
    return model

"""
Few causes among many: the path of the lasso
============================================

The lasso sets most weights to exactly zero. Along a path of penalties, from the smallest that gives
zeros only, one column after the other comes in. (Lecture 000, section 1.3.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from mercer import Lasso, Ridge, lasso_path, ridge_path

diabetes = load_diabetes()
X = diabetes.data / diabetes.data.std(axis=0)
y = diabetes.target - diabetes.target.mean()

# %%
# A path
# ------
# Ridge regression makes all weights small together; the lasso keeps some and drops the rest.
# The six largest weights have a name.
path = lasso_path(X, y, alphas=100)
ridge = ridge_path(X, y, alphas=np.geomspace(1e5, 1, 100))
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
path.plot(names=diabetes.feature_names, ax=panels[0]).set_title("lasso")
ridge.plot(names=diabetes.feature_names, ax=panels[1]).set(title="ridge", ylabel="")
plt.show()
alphas, coefs, gaps = path
print(f"largest gap of the path, as a share of ‖y‖²/2n: {gaps.max() / (y @ y / 2 / len(y)):.0e}")

# %%
# Compressed sensing
# ------------------
# A signal of 400 numbers, 12 of them not zero, is measured by 100 random sums. Least squares
# spreads over all 400 numbers; the lasso finds the 12.
random = np.random.default_rng(0)
signal = np.zeros(400)
signal[random.choice(400, 12, replace=False)] = random.choice([-1, 1], 12) * random.uniform(
    1, 2, 12
)
sensors = random.normal(size=(100, 400)) / 10
measured = sensors @ signal + 0.01 * random.normal(size=100)
found = Lasso(1e-4, fit_intercept=False).fit(sensors, measured)
short = Ridge(0.0, fit_intercept=False).fit(sensors, measured)
figure, panels = plt.subplots(2, 1, figsize=(9, 4.6), layout="constrained", sharex=True)
for axes, model, name in ((panels[0], found, "lasso"), (panels[1], short, "shortest exact answer")):
    axes.stem(
        np.flatnonzero(signal),
        signal[signal != 0],
        linefmt="C1-",
        markerfmt="C1o",
        basefmt=" ",
        label="signal",
    )
    axes.stem(model.coef_, linefmt="C0-", markerfmt="C0.", basefmt=" ", label=name)
    error = np.linalg.norm(model.coef_ - signal) / np.linalg.norm(signal)
    axes.set_title(f"{name}: relative error {error:.2f}")
    axes.legend(loc="upper right", fontsize=8)
plt.show()
print(found.certificate_)

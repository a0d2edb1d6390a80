"""
What a Gaussian process knows
=============================

A Gaussian process is a distribution over functions. Before there are data it is the prior: the
kernel says how smooth and how large its functions are. The data leave those functions that pass
near them. Where there are no data the band is wide, and it says how wide. (Lecture 001, Gaussian
processes.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GP, RBF, GaussianProcessRegressor, KernelRidge, White

random = np.random.default_rng(4)


def truth(x):
    return np.sin(1.5 * x) + 0.3 * x


x = np.sort(np.concatenate([random.uniform(0, 3, 14), random.uniform(5.5, 8, 11)]))
y = truth(x) + 0.15 * random.standard_normal(len(x))
grid = np.linspace(-1, 10, 300)

# %%
# ``GP`` learns the width, the size and the noise from the evidence, log N(y | 0, K). Its noise
# comes near the 0.15 that was added.
model = GP(x[:, None], y)
print(model.kernel_)
print(f"noise {np.sqrt(model.theta_['right__noise']) * y.std():.3f}, jitter {model.jitter_:.1g}")

# %%
# Left, functions of the prior; in the middle, functions that remain. The band holds 95 % of new
# observations. Right, the evidence of width and noise: one top, and a ridge towards wide kernels
# that take everything for noise.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
prior = GaussianProcessRegressor(model.kernel_.left)
spread, middle_level = y.std(), y.mean()
left.plot(grid, middle_level + spread * prior.sample_y(grid[:, None], 5, random_state=1), lw=1)
left.set(title="Before the data", xlabel="x", ylabel="y")

mean, std = model.predict(grid[:, None], return_std=True)
middle.fill_between(grid, mean - 1.96 * std, mean + 1.96 * std, color="C0", alpha=0.2, lw=0)
middle.plot(grid, mean, color="C0", label="mean")
middle.plot(grid, truth(grid), color="C7", ls="--", lw=1, label="truth")
middle.plot(x, y, "o", color="C1", ms=3.5, label="data")
middle.set(title="After the data", xlabel="x")
middle.legend(loc="upper left")
for axes in (left, middle):
    axes.set(ylim=(-3, 6))

widths, noises = np.geomspace(0.2, 20, 40), np.geomspace(3e-3, 1.5, 40)
factor = model.theta_["left__factor"]
surface = [[model.log_marginal_likelihood(np.log([factor, w, s])) for w in widths] for s in noises]
top = model.log_marginal_likelihood_value_
picture = right.contourf(widths, noises, np.array(surface) - top, np.linspace(-30, 0, 13),
                         extend="min", cmap="viridis")  # fmt: skip
right.plot(model.theta_["left__kernel__length_scale"], model.theta_["right__noise"], "w*", ms=12)
right.set(xscale="log", yscale="log", title="Evidence, below its top", xlabel="width",
          ylabel="variance of the noise")  # fmt: skip
figure.colorbar(picture, ax=right)
plt.show()

# %%
# The mean of the process is a kernel ridge regression whose λ is the noise. Kernel ridge finds it
# by leaving one out; the process by its evidence.
ridge = KernelRidge("auto", kernel=RBF("auto")).fit(x[:, None], y - y.mean())
errors = model.leave_one_out().mean - y
print(f"leave-one-out error: ridge {np.sqrt(np.mean(ridge.leave_one_out() ** 2)):.3f}, "
      f"process {np.sqrt(np.mean(errors**2)):.3f}")  # fmt: skip
kernel = 1.0 * RBF(length_scale="median") + White(0.1)
print(GaussianProcessRegressor(kernel).fit(x[:, None], y).flat_parameters() or "nothing is flat")

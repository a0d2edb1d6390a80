"""
Perceptrons and networks
========================

A perceptron corrects itself at each mistake. A theorem says how many mistakes there can be; a
kernel or hidden layers bend the boundary. (Lecture 000, section 2.)
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import RBF, Adaline, KernelPerceptron, MLPClassifier, Perceptron

# %%
# How many mistakes?
# ------------------
# Novikoff's bound is (R/γ)²: the longest row over the widest margin, squared. It does not depend on
# the number of rows. Here two classes are moved apart step by step; thirty orders of the rows are
# tried at each distance.
random = np.random.default_rng(0)
cloud = random.normal(size=(300, 2))
y = cloud @ [0.6, 0.8] > 0
gaps = np.geomspace(0.05, 2, 9)
made, bounds = [], []
for gap in gaps:
    X = cloud + np.outer(np.where(y, gap, -gap), [0.6, 0.8])
    runs = [Perceptron(random_state=seed, tol=None).fit(X, y) for seed in range(30)]
    made.append([run.mistakes_[0] for run in runs])
    bounds.append(runs[0].mistake_bound_[0])
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.loglog(gaps, bounds, "o-", color="#1b2a41", label="the bound (R/γ)²")
axes.loglog(gaps, np.max(made, axis=1), "o-", color="C1", label="most mistakes of 30 orders")
axes.loglog(gaps, np.median(made, axis=1), "o-", color="C0", label="median")
axes.set(xlabel="how far the classes were moved apart", ylabel="mistakes")
axes.legend()
plt.show()

# %%
# Regions of decision
# -------------------
# Two moons: a line cannot separate them, a kernel or a hidden layer can. Adaline cares for squared
# errors and finds a calmer line than the perceptron, which stops wherever it is.
angle = random.uniform(0, np.pi, 240)
side = np.arange(240) % 2
X = np.column_stack([np.cos(angle), np.sin(angle)])
X[side == 1] = [1.0, 0.4] - X[side == 1]
X += 0.12 * random.normal(size=X.shape)
machines = {
    "Perceptron": Perceptron(),
    "Adaline": Adaline(),
    "KernelPerceptron(RBF)": KernelPerceptron(RBF(gamma=3.0)),
    "one hidden layer of 4": MLPClassifier(4, activation="tanh", solver="lbfgs", random_state=0),
    "two of 32, Adam": MLPClassifier(
        [32, 32], max_iter=400, learning_rate_init=0.01, random_state=0
    ),
}
u, v = np.meshgrid(np.linspace(-1.6, 2.5, 220), np.linspace(-1.1, 1.6, 160))
grid = np.column_stack([u.ravel(), v.ravel()])
figure, panels = plt.subplots(1, 5, figsize=(13, 2.9), layout="constrained", sharey=True)
for axes, (name, machine) in zip(panels, machines.items(), strict=True):
    machine.fit(X, side)
    regions = machine.predict(grid).reshape(u.shape)
    axes.contourf(u, v, regions, levels=[-0.5, 0.5, 1.5], colors=["#dbe8f2", "#f6e0d8"])
    axes.contour(u, v, regions, levels=[0.5], colors="#1b2a41", linewidths=1)
    axes.scatter(*X.T, c=np.where(side == 1, "#d1603d", "#2f78b0"), s=9, edgecolors="none")
    axes.set_title(f"{name}\n{machine.score(X, side):.1%} right")
plt.show()

# %%
# The course of training
# ----------------------
# The same network by three solvers, from the same weights. Full-batch descent counts one step for
# all rows; the others an epoch of steps with 20 rows each.
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for solver, rate, up in (("adam", 0.01, 5), ("sgd", 0.05, -5), ("descent", 0.01, 0)):
    network = MLPClassifier(
        16, solver=solver, learning_rate_init=rate, batch_size=20, max_iter=150,
        activation="tanh", tol=1e-9, n_iter_no_change=np.inf, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 150 steps are not the end
        network.fit(X, side)
    (line,) = axes.semilogy(network.loss_curve_)
    axes.annotate(solver, (150, network.loss_curve_[-1]), xytext=(4, up), color=line.get_color(),
                  textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip
axes.set(xlabel="epoch, or step with all rows", ylabel="loss")
axes.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"])
axes.yaxis.set_minor_formatter("")
plt.show()

"""
Inside a network
================

Signals run forward through the layers, errors run back: the sensitivity δ of a neuron is how much
the loss would fall if its input grew. Each weight then changes by the signal at its one end times
δ at its other. (Lecture 000, figures 7 to 10.)
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import MLPRegressor

# %%
# A small network learns XOR as numbers, with tanh everywhere and squared errors after the last
# tanh. It is stopped early, so that something is left to learn.
X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
y = np.array([-0.8, 0.8, 0.8, -0.8])
network = MLPRegressor(
    hidden_layer_sizes=(3, 2), activation="tanh", output_activation="tanh", solver="descent",
    alpha=0.0, max_iter=25, tol=0.0, random_state=3,
)  # fmt: skip
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # 25 steps are not the end
    network.fit(X, y)
print(f"loss {network.loss_:.4f} after {network.n_iter_} steps: {network.predict(X).round(2)}")

# %%
# Forward
# -------
# The signals of one row: a = φ(Wᵀa + b), layer by layer.
row = 1
signals = [X[row]]
for W, b in zip(network.coefs_, network.intercepts_, strict=True):
    signals.append(np.tanh(signals[-1] @ W + b))
assert np.allclose(signals[-1], network.predict(X[row : row + 1]))

# %%
# Back
# ----
# ``sensitivities`` has δ for every neuron and row. At the output it is (y − f)φ′; a hidden neuron
# collects those of the next layer through the weights that lead there.
deltas = [layer[row] for layer in network.sensitivities(X, y)]
before = (deltas[2] @ network.coefs_[2].T) * (1 - signals[2] ** 2)
print("δ of the second hidden layer:", deltas[1].round(4), "by hand:", before.round(4))


def draw(axes, numbers, title, towards):
    """Draw the network with a number in each neuron; the width of a line is its weight."""
    places = [
        [(layer, (len(each) - 1) / 2 - j) for j in range(len(each))]
        for layer, each in enumerate(signals)
    ]
    for W, left, right in zip(network.coefs_, places, places[1:], strict=False):
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                colour = "C0" if W[i, j] > 0 else "C1"
                axes.plot(*zip(a, b, strict=True), color=colour, lw=0.6 + 2.2 * abs(W[i, j]),
                          alpha=0.55, zorder=1)  # fmt: skip
    for layer, values in numbers.items():
        for place, value in zip(places[layer], values, strict=True):
            axes.scatter(*place, s=1150, color="white", edgecolor="#1b2a41", zorder=2)
            word = f"{value:.2g}".replace("-", "−")
            axes.annotate(word, place, ha="center", va="center", fontsize=9, zorder=3)
    for layer, name in enumerate(("input", "hidden", "hidden", "output")):
        axes.annotate(name, (layer, -1.75), ha="center", color="C5")
    style = {"arrowstyle": "->", "color": "#1b2a41", "lw": 1.2}
    ends = ((2.6, 1.65), (0.4, 1.65)) if towards == "back" else ((0.4, 1.65), (2.6, 1.65))
    axes.annotate("", ends[1], ends[0], arrowprops=style)
    axes.set(title=title, xlim=(-0.4, 3.4), ylim=(-1.95, 1.95))
    axes.set_axis_off()


figure, panels = plt.subplots(1, 2, figsize=(10.6, 4.4), layout="constrained")
draw(panels[0], dict(enumerate(signals)), f"Signals a, forward; the target is {y[row]}", "forward")
draw(panels[1], dict(enumerate(deltas, 1)), "Sensitivities δ, back", "back")
for axes in panels:
    axes.annotate("weights: > 0", (0.35, -1.35), color="C0", fontsize=9)
    axes.annotate("< 0", (1.0, -1.35), color="C1", fontsize=9)
plt.show()

# %%
# A check from outside
# --------------------
# The slope of the loss for one weight is −a·δ, averaged over rows. Moving that weight a little and
# looking at the loss gives the same number.


def loss(change):
    weights = [W.copy() for W in network.coefs_]
    weights[1][0, 1] += change
    values = X
    for W, b in zip(weights, network.intercepts_, strict=True):
        values = np.tanh(values @ W + b)
    return 0.5 * np.mean((values.ravel() - y) ** 2)


hidden = np.tanh(X @ network.coefs_[0] + network.intercepts_[0])
slope = -np.mean(hidden[:, 0] * network.sensitivities(X, y)[1][:, 1])
print(f"by backpropagation {slope:.8f}, by differences {(loss(1e-6) - loss(-1e-6)) / 2e-6:.8f}")

# %%
# The course
# ----------
# What happens if it goes on.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    network.set_params(max_iter=400).fit(X, y)
axes = network.plot()
axes.set_title(f"{network.n_iter_} steps of descent with line searches")
plt.show()

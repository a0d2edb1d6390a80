"""
How sure is it?
===============

A kernel machine predicts the progress of diabetes. Around each prediction stands an interval that
holds the truth with a probability that is promised, whatever the machine and the data are like.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import Conformal, KernelRidge, load_data

diabetes = load_data("diabetes")
X, new, y, truth = train_test_split(diabetes.X, diabetes.y, test_size=142, random_state=0)
scale = StandardScaler().fit(X)
X, new = scale.transform(X), scale.transform(new)
ridge = KernelRidge(10.0, kernel="rbf", gamma=0.02)
centre = y.mean()
machine = Conformal(ridge, level=0.9).fit(X, y - centre)
low, high = machine.predict_interval(new).T + centre
inside = (low <= truth) & (truth <= high)
print(f"{machine.method_}: {inside.mean():.0%} of the new patients are inside")

# %%
# On the left, intervals of new patients in the order of their predictions, orange where the truth
# is outside. On the right, how often intervals of each level hold the truth: close to the diagonal
# is what was promised.

order = np.argsort(machine.predict(new))
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
places = np.arange(len(new))
colours = np.where(inside, "C0", "C1")[order]
left.vlines(places, low[order], high[order], color="#c9d1dc", lw=2)
left.scatter(places, truth[order], c=colours, s=14, zorder=3)
left.set_xlabel("new patients, by their prediction")
left.set_ylabel("progress of the disease")
levels = np.linspace(0.1, 0.95, 18)
held = []
for level in levels:
    low, high = machine.set_params(level=level).predict_interval(new).T + centre
    held.append(((low <= truth) & (truth <= high)).mean())
right.plot([0, 1], [0, 1], color="#8d99ae", lw=1)
right.plot(levels, held, "o-", color="#1b2a41")
right.set_xlabel("level that was promised")
right.set_ylabel("share of new patients inside")
plt.show()

"""
Probabilities that agree with the decision
==========================================

A support vector machine decides by the sign of f(x). ``probability=True`` also gives probabilities,
1/(1 + exp(−a f(x))). There is one factor a and no offset, so that ½ lies on the decision boundary
and the more probable class is always the predicted one. Platt's scaling has an offset too, and may
say "60 % healthy" of a patient whom ``predict`` calls ill. What does the agreement cost?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from mercer import SVC, load_data

# %%
# Two sets of patients, and one of them again with few of the ill. The last machine is told that
# the few count as much as the many: ``class_weight="balanced"`` moves its boundary on purpose.
heart = load_data("heart")
ill = heart.y == "disease"
rare = np.concatenate([np.flatnonzero(~ill), np.flatnonzero(ill)[:30]])
tumours = load_breast_cancer()
data = {
    "breast cancer": (StandardScaler().fit_transform(tumours.data), 1 - tumours.target, None),
    "heart": (heart.X, ill.astype(int), None),
    "heart, few ill": (heart.X[rare], ill[rare].astype(int), None),
    "few ill, balanced": (heart.X[rare], ill[rare].astype(int), "balanced"),
}


# %%
# Both ways use the same machine and five folds inside the training data. All numbers are of
# patients held out: ten folds, twice. The log loss is the mean of −log p of what was true, and
# “base” is that of a machine which only knows how many are ill.
def held_out(X, y, weight, repeats=2):
    """Return the true classes and, for each way, probabilities and decisions of held-out rows."""
    truth, ours, free, decisions = [], [], [], []
    for seed in range(repeats):
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
            machine = SVC(class_weight=weight, probability=True, random_state=0).fit(
                X[train], y[train]
            )
            inner = StratifiedKFold(5, shuffle=True, random_state=0)
            platt = CalibratedClassifierCV(
                SVC(class_weight=weight), method="sigmoid", ensemble=False, cv=inner
            )
            truth.append(y[test])
            ours.append(machine.predict_proba(X[test])[:, 1])
            free.append(platt.fit(X[train], y[train]).predict_proba(X[test])[:, 1])
            decisions.append(machine.predict(X[test]))
    return tuple(np.concatenate(part) for part in (truth, ours, free, decisions))


results = {name: held_out(*case) for name, case in data.items()}
print(f"{'':<18} {'log loss':^24} {'against predict':^24}")
print(f"{'':<18} {'mercer':>8} {'Platt':>7} {'base':>7} {'mercer':>9} {'Platt':>8}")
for name, (truth, ours, free, decisions) in results.items():
    losses = [log_loss(truth, p) for p in (ours, free, np.full(len(truth), truth.mean()))]
    against = [np.mean((p > 0.5) != (decisions == 1)) for p in (ours, free)]
    print(
        f"{name:<18} {losses[0]:>8.3f} {losses[1]:>7.3f} {losses[2]:>7.3f} {against[0]:>9.1%} "
        f"{against[1]:>8.1%}"
    )

# %%
# On ordinary data the agreement costs next to nothing: the boundary of the machine is where both
# classes are equally likely, and Platt's offset has little to correct. Yet it contradicts the
# decision for one patient in a hundred.
#
# The price is paid where the boundary was moved on purpose. A balanced machine says “ill” at a
# lower risk than ½, and a probability that agrees with it cannot also be the true frequency. Where
# you need frequencies from such a machine, use ``CalibratedClassifierCV``, or weights of 1 and a
# threshold of your own.
#
# Is it so?
# ---------
# Among the patients who were given a probability near 30 %, about 30 % should be ill. Each point
# stands for an equal share of the patients.
figure, panels = plt.subplots(1, 4, figsize=(10.5, 3.4), layout="constrained", sharey=True)
for axes, (name, (truth, ours, free, _)) in zip(panels, results.items(), strict=True):
    axes.plot([0, 1], [0, 1], color="C5", lw=1, ls=":")
    for p, colour, style, label in ((ours, "C0", "o-", "mercer"), (free, "C1", "s--", "Platt")):
        parts = np.array_split(np.argsort(p, kind="stable"), 8)
        points = [(p[part].mean(), truth[part].mean()) for part in parts]
        axes.plot(*np.transpose(points), style, color=colour, ms=5, label=label)
    axes.set(title=name, xlabel="probability given", aspect="equal")
panels[0].set_ylabel("share of the ill")
panels[0].legend(loc="upper left")
plt.show()

# %%
# One fit of the balanced machine: Platt's curve does not pass through ½ where f(x) = 0. Between the
# boundary and the place where it does, the shaded strip, it contradicts ``predict``.
X, y, weight = data["few ill, balanced"]
machine = SVC(class_weight=weight, probability=True, random_state=0).fit(X, y)
platt = CalibratedClassifierCV(SVC(class_weight=weight), method="sigmoid", ensemble=False)
platt.fit(X, y)
f = machine.decision_function(X)
order = np.argsort(f)
ours, free = (model.predict_proba(X)[order, 1] for model in (machine, platt))
crossing = np.interp(0.5, free, f[order])

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.axvspan(*sorted((0, crossing)), color="C3", alpha=0.2, lw=0)
axes.axhline(0.5, color="C5", lw=1, ls=":")
axes.axvline(0, color="C5", lw=1, ls=":")
axes.plot(f[order], ours, color="C0", label="mercer")
axes.plot(f[order], free, "--", color="C1", label="Platt")
for label, colour, height in ((0, "C2", -0.04), (1, "C4", 1.04)):
    axes.plot(f[y == label], np.full(np.sum(y == label), height), "|", color=colour, ms=7, mew=1)
axes.annotate("healthy", (f.max(), -0.04), ha="right", va="bottom", xytext=(0, 4),
              textcoords="offset points", color="C2")  # fmt: skip
axes.annotate("ill", (f.min(), 1.04), ha="left", va="top", xytext=(0, -4),
              textcoords="offset points", color="C4")  # fmt: skip
axes.set(xlabel="decision f(x)", ylabel="probability to be ill")
axes.legend(loc="upper left", bbox_to_anchor=(0, 0.85))
plt.show()

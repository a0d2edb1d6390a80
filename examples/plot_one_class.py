"""
Tubes and regions
=================

Two relatives of the classifier. Support vector regression lays a tube around a function: what lies
inside costs nothing. The one-class machine has no classes at all; it finds the region where the
data live and calls the rest outliers. (Lecture 000, figure 4, has the dead zone of the tube.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import RBF, SVR, NuSVR, OneClassSVM

wine = load_wine(as_frame=True).data

# %%
# A tube
# ------
# The hue of a wine from the intensity of its colour. ``epsilon`` is half the width of the tube. A
# wide tube needs few support vectors, the ringed points: all the others could be left out.
x, hue = wine[["color_intensity"]].to_numpy(), wine["hue"].to_numpy()
line = np.linspace(1, 13.3, 300)[:, None]


def draw(axes, machine, epsilon, title):
    """Draw a regression and its tube."""
    f, support = machine.predict(line), machine.support_
    axes.fill_between(line[:, 0], f - epsilon, f + epsilon, color="C0", alpha=0.18, lw=0)
    axes.plot(line, f, color="C0")
    axes.plot(x, hue, "o", color="C1", ms=4, mec="white", mew=0.4)
    axes.plot(x[support], hue[support], "o", mfc="none", mec="#1b2a41", ms=8, mew=0.8)
    axes.set(title=title, xlabel="colour intensity")


figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained", sharey=True)
for axes, epsilon in zip(panels, (0.02, 0.1, 0.3), strict=True):
    machine = SVR(RBF(sigma=3.0), C=1, epsilon=epsilon).fit(x, hue)
    draw(axes, machine, epsilon, f"ε = {epsilon}: {len(machine.support_)} support vectors")
panels[0].set_ylabel("hue")
plt.show()

# %%
# ``NuSVR`` turns it round. It is told which share ν of the wines may lie outside, and finds the
# width, ``epsilon_``. At most a share ν is outside, at least a share ν are support vectors.
print(f"{'ν':>5} {'ε found':>8} {'outside':>8} {'support vectors':>16} {'relative gap':>13}")
for nu in (0.05, 0.2, 0.5, 0.8):
    machine = NuSVR(RBF(sigma=3.0), C=1, nu=nu, tol=1e-6).fit(x, hue)
    outside = np.mean(np.abs(machine.predict(x) - hue) > machine.epsilon_ + 1e-5)
    share = len(machine.support_) / len(x)
    gap = machine.certificate_.relative_gap
    print(f"{nu:>5} {machine.epsilon_:>8.3f} {outside:>8.1%} {share:>16.1%} {gap:>13.0e}")

# %%
# A region
# --------
# The one-class machine has the same ν: at most that share of the wines it learns from is left
# outside. A wider kernel makes a rounder region.
Z = StandardScaler().fit_transform(wine[["alcohol", "flavanoids"]])
xs, ys = np.linspace(-3.2, 3.2, 260), np.linspace(-2.4, 3.6, 260)
grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
figure, panels = plt.subplots(
    2, 3, figsize=(9.6, 6.4), layout="constrained", sharex=True, sharey=True
)
for row, sigma in zip(panels, (0.8, 2.0), strict=True):
    for axes, nu in zip(row, (0.05, 0.2, 0.5), strict=True):
        machine = OneClassSVM(RBF(sigma=sigma), nu=nu, tol=1e-6).fit(Z)
        values = machine.decision_function(grid).reshape(260, 260)
        out = machine.decision_function(Z) < -1e-4
        axes.contourf(xs, ys, values, [0, np.inf], colors="C0", alpha=0.18)
        axes.contour(xs, ys, values, [0], colors="C0")
        axes.plot(*Z[~out].T, "o", color="C0", ms=4, mec="white", mew=0.4)
        axes.plot(*Z[out].T, "s", color="C1", ms=4, mec="white", mew=0.4)
        axes.set(title=f"σ = {sigma}, ν = {nu}: {out.mean():.0%} outside", aspect="equal")
figure.supxlabel("alcohol, scaled", fontsize="medium")
figure.supylabel("flavanoids, scaled", fontsize="medium")
plt.show()

# %%
# Never seen
# ----------
# A one-class machine can find what it was never shown. This one learns from 200 benign tumours. How
# strange are 157 other benign ones to it, and 212 malignant ones?
X, benign = load_breast_cancer(return_X_y=True)
known = np.flatnonzero(benign)[:200]
machine = make_pipeline(StandardScaler(), OneClassSVM(nu=0.05)).fit(X[known])
new = np.setdiff1d(np.arange(len(X)), known)
scores = machine.decision_function(X[new])
auc = roc_auc_score(benign[new], scores)
alarm = machine.predict(X[new]) == -1
print(f"alarm for {alarm[benign[new] == 0].mean():.0%} of the malignant tumours", end=" ")
print(f"and {alarm[benign[new] == 1].mean():.0%} of the benign; area under the ROC curve {auc:.2f}")
print(machine[-1].certificate_)

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
bins = np.linspace(scores.min(), scores.max(), 45)
for label, name, colour in ((1, "benign", "C0"), (0, "malignant", "C1")):
    axes.hist(scores[benign[new] == label], bins, color=colour, alpha=0.65, label=f"new, {name}")
axes.axvline(0, color="#3c4757", lw=1, ls="--")
axes.set(xlabel="decision f(x) − ρ, negative for outliers", ylabel="tumours")
axes.legend(loc="upper center")
plt.show()

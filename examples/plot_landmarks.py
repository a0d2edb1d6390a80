"""
Landmarks
=========

A kernel matrix of many rows can be seen through a few of them, the landmarks: K ≈ K_nM K_MM⁺ K_Mn.
Each row then has M features, and machines need n·M numbers in place of n². How much is lost is
the trace of the residual, the sum of the squared distances of all φ(x) from the span of the
landmarks. Which rows are taken matters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import RBF, SVC, Nystrom, NystromMap, WeisfeilerLehman, read_graphs

digits = load_digits()
images = digits.data / 16
molecules = read_graphs("solubility").graphs[:800]
methods = ("uniform", "leverage", "pivoted", "kmeans")
sizes = np.array([10, 20, 40, 80, 160, 320])


# %%
# What is left
# ------------
# 1,797 images of digits with a Gaussian kernel, and 800 molecules with a kernel of graphs, for
# which large molecules weigh more. No choice of M landmarks can leave less than the eigenvalues of
# K after the first M. Graphs have no means, so there are no centres of clusters for them.
def left(kernel, X, size, method, seed):
    """Return the trace of the residual as a share of that of K."""
    found = NystromMap(kernel, int(size), method=method, random_state=seed).fit(X)
    return found.residual_trace_ / found.kernel_.diag(X).sum()


data = {
    "digits, Gaussian kernel": (RBF("median"), images, methods),
    "molecules, Weisfeiler–Lehman kernel": (WeisfeilerLehman(2), molecules, methods[:3]),
}
figure, panels = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for axes, (name, (kernel, X, suited)) in zip(panels, data.items(), strict=True):
    values = np.maximum(np.linalg.eigvalsh(kernel(X))[::-1], 0)
    best = 1 - np.cumsum(values)[sizes - 1] / values.sum()
    print(name)
    for method in suited:
        shares = np.array([[left(kernel, X, m, method, seed) for seed in range(3)] for m in sizes])
        axes.plot(sizes, np.median(shares, axis=1), "o-", ms=4, label=method)
        print(f"  {method:9s}" + "  ".join(f"{share:.4f}" for share in np.median(shares, axis=1)))
    axes.plot(sizes, best, color="C5", ls="--", label="no choice can be below")
    axes.set(xscale="log", yscale="log", xlabel="landmarks", title=name)
    axes.legend()
panels[0].set_ylabel("share of the trace that is left")
plt.show()

# %%
# Digits come in crowds of about equal size: blind draws do no harm, and centres, which stand for a
# crowd better than any of its rows, leave least. Molecules differ: landmarks that go where
# something is left need half as many for the same share.

# %%
# What it costs a machine
# -----------------------
# Even digits against odd ones, by ``SVC(approximation=...)``. The approximated problem is solved
# to its optimum, and its certificate bounds how far this optimum is from that of the exact
# problem; here we can afford to look.
train, test = np.arange(len(images)) < 1200, np.arange(len(images)) >= 1200
odd = digits.target % 2
exact = SVC(RBF("median"), C=10.0).fit(images[train], odd[train])
machines = [
    SVC(RBF("median"), C=10.0, approximation=Nystrom(int(m))).fit(images[train], odd[train])
    for m in sizes
]
optimum = exact.certificate_.dual
apart = [machine.certificate_.dual - optimum for machine in machines]
bounds = [machine.certificate_.approximation_cost for machine in machines]
scores = [machine.score(images[test], odd[test]) for machine in machines]
print(machines[-1].certificate_)

figure, (first, second) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
first.plot(sizes, bounds, "o-", ms=4, color="C1", label="bound of the certificate")
first.plot(sizes, apart, "o-", ms=4, label="how far the optima are apart")
first.set(xscale="log", yscale="log", xlabel="landmarks", ylabel="value of the problem")
first.legend()
second.plot(sizes, scores, "o-", ms=4, label="on landmarks")
second.axhline(exact.score(images[test], odd[test]), color="C5", ls="--", label="exact, 1,200 rows")
second.set(xscale="log", xlabel="landmarks", ylabel="accuracy on 597 other digits")
second.legend()
plt.show()

"""
Molecules as graphs
===================

A molecule is a graph: atoms are nodes, bonds are edges, and both have labels. The
Weisfeiler–Lehman kernel refines the label of every atom by those of its neighbours, round by
round; two molecules are alike when they share many of these ever larger neighbourhoods.

The data are the solubilities in water of 1,128 molecules, which come with mercer. (Lecture 003,
sections 18 and 20.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, GridSearchCV, WeisfeilerLehman, read_graphs

molecules = read_graphs("solubility")
print(molecules)

# %%
# A small molecule, and the colours of its atoms: at first the element, then the element together
# with the neighbourhood of one and of two bonds. Atoms that look alike from where they stand keep
# the same colour, and the same number. (Lecture 003, section 20.4.)
small = next(
    graph
    for graph in molecules.graphs
    if graph.size == 9 and len(set(graph.labels.tolist())) == 3 and len(graph.edges) == 9
)


def positions(graph, steps=600):
    """Place the atoms: bonds pull, all atoms push each other away."""
    random = np.random.default_rng(3)
    at = random.normal(size=(graph.size, 2))
    for step in range(steps):
        gap = at[:, None] - at[None]
        squared = (gap**2).sum(axis=2) + 1e-3
        force = (gap / squared[:, :, None]).sum(axis=1)
        for u, v in graph.edges:
            pull = (at[u] - at[v]) * np.linalg.norm(at[u] - at[v])
            force[u] -= pull
            force[v] += pull
        at += 0.2 * (1 - step / steps) * np.clip(force, -1, 1)
    return at


at = positions(small)
(colours,) = WeisfeilerLehman(2).colours([small])
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2))
palette = ["#0072b2", "#d55e00", "#009e73", "#7a4e9c", "#8c6d31", "#b3446c", "#3c4757", "#2f8fbf"]
for rounds, axis in enumerate(axes):
    number = {colour: i for i, colour in enumerate(dict.fromkeys(colours[rounds].tolist()))}
    for (u, v), bond in zip(small.edges.tolist(), small.edge_labels.tolist(), strict=True):
        width = {"single": 1.5, "double": 4, "triple": 6}.get(bond, 2.5)
        axis.plot(*at[[u, v]].T, color="0.6", lw=width, zorder=1)
    chosen = [palette[number[colour] % len(palette)] for colour in colours[rounds].tolist()]
    axis.scatter(*at.T, c=chosen, s=420, zorder=2, edgecolors="white")
    for place, element, colour in zip(
        at, small.labels.tolist(), colours[rounds].tolist(), strict=True
    ):
        word = element + "₁₂₃₄₅₆₇₈₉"[number[colour]]
        axis.text(*place, word, ha="center", va="center", color="white", weight="bold")
    axis.set_title(f"round {rounds}: {len(number)} labels")
    axis.set_aspect("equal")
    axis.margins(0.15)
    axis.axis("off")
figure.tight_layout()

# %%
# The kernel knows of φ(x) what the picture shows: as many counts as atoms in every round.
phi = WeisfeilerLehman(2).features([small])
print(phi.shape, phi.toarray().sum())

# %%
# Regression on nothing but the graphs: 800 molecules to learn from, the others to predict. C is
# tuned for each number of rounds by cross-validation on the 800, and so is the number of rounds;
# the other molecules are only asked at the end. Their errors are shown for all numbers of rounds,
# but none of them was used to choose.
random = np.random.default_rng(0)
order = random.permutation(len(molecules))
train, test = order[:800], order[800:]
X = np.empty(len(molecules), dtype=object)
X[:] = molecules.graphs
y = molecules.target

searches = {}
for rounds in range(5):
    machine = SVR(kernel=WeisfeilerLehman(rounds).normalized(), epsilon=0.1)
    search = GridSearchCV(
        machine, {"C": [1.0, 10.0, 100.0]}, scoring="neg_root_mean_squared_error", cv=5
    )
    searches[rounds] = search.fit(X[train], y[train])
inside = {rounds: -search.best_score_ for rounds, search in searches.items()}
chosen = min(inside, key=inside.get)
answers = {rounds: search.predict(X[test]) for rounds, search in searches.items()}
errors = {rounds: np.sqrt(np.mean((a - y[test]) ** 2)) for rounds, a in answers.items()}
for rounds, search in searches.items():
    gap = search.best_estimator_.certificate_.relative_gap
    print(
        f"{rounds} rounds, C = {search.best_params_['C']:g}: error in cross-validation "
        f"{inside[rounds]:.2f}, on the others {errors[rounds]:.2f}, relative gap {gap:.0e}"
    )
print(f"chosen by cross-validation: {chosen} rounds")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
left.bar([r - 0.2 for r in inside], list(inside.values()), 0.4, color="#bbbbbb", label="folds")
left.bar([r + 0.2 for r in errors], list(errors.values()), 0.4, color="#4477aa", label="others")
left.axhline(y[test].std(), color="0.5", ls="--", lw=1)
left.annotate("the mean for all", (4.4, y[test].std()), xytext=(0, 4), textcoords="offset points",
              ha="right", color="0.4", fontsize=9)  # fmt: skip
left.set(xlabel="rounds", ylabel="root mean squared error", title="Wider neighbourhoods help")
left.set_ylim(0, 1.12 * y[test].std())
left.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.85))
right.plot(y[test], answers[chosen], ".", color="#4477aa", alpha=0.6)
ends = [y.min(), y.max()]
right.plot(ends, ends, color="0.5", lw=1)
right.set(xlabel="measured log solubility", ylabel="predicted", title=f"{chosen} rounds")
figure.tight_layout()
plt.show()

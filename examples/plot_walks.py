"""
Walks that two graphs share
===========================

A random walk kernel counts pairs of walks with the same labels, one in each graph. They are the
walks of a single graph, the direct product. (Lecture 003, sections 20.2 and 20.3.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Graph, RandomWalk, product_graph, walk_counts

# %%
# The product
# -----------
# Its nodes are the pairs of nodes with one label; an edge joins two pairs where both graphs have
# an edge. A walk on it is a walk in each graph with the same labels: the broad line is C, N, C.
g = Graph([(0, 1), (1, 2), (2, 0), (2, 3)], labels=["C", "C", "N", "O"])
h = Graph([(0, 1), (1, 2), (2, 3)], labels=["C", "N", "C", "O"])
both = product_graph(g, h)
triangle = np.array([[0.0, 1.0], [0.0, 0.0], [0.9, 0.5], [1.8, 0.5]])
chain = np.column_stack([np.arange(4.0), np.full(4, 0.5)])
colours = {"C": "#0072b2", "N": "#e69f00", "O": "#d55e00"}


def draw(axes, places, edges, labels, words, title, walk, size=520):
    """Draw a graph with words in its nodes, colours by label, and a walk as a broad line."""
    axes.plot(*places[walk].T, color="#a8558a", lw=9, alpha=0.45, solid_capstyle="round", zorder=0)
    for a, b in edges:
        axes.plot(*places[[a, b]].T, color="#5b6675", lw=1.4, zorder=1)
    axes.scatter(*places.T, s=size, c=[colours[label] for label in labels], zorder=2)
    for place, word, label in zip(places, words, labels, strict=True):
        axes.annotate(word, place, ha="center", va="center", fontsize=9, zorder=3,
                      color="#1b2a41" if label == "N" else "white")  # fmt: skip
    axes.set_title(title)
    axes.margins(0.22)
    axes.set_axis_off()


pairs = both.nodes
labels = [g.labels[a] for a, _ in pairs]
places = pairs[:, ::-1] * [1.0, -1.0]  # a column for each node of h, a row for each of g
walk = np.array([(0, 0), (2, 1), (1, 2)])
steps = [int(np.flatnonzero((pairs == pair).all(axis=1))[0]) for pair in walk]
A = both.adjacency.toarray()
figure, panels = plt.subplots(1, 3, figsize=(11.4, 3.6), layout="constrained",
                              width_ratios=[1, 1.2, 1.8])  # fmt: skip
draw(panels[0], triangle, [(0, 1), (1, 2), (2, 0), (2, 3)], g.labels,
     [f"{i} {label}" for i, label in enumerate(g.labels)], "g", walk[:, 0])  # fmt: skip
draw(panels[1], chain, [(0, 1), (1, 2), (2, 3)], h.labels,
     [f"{i} {label}" for i, label in enumerate(h.labels)], "h", walk[:, 1])  # fmt: skip
draw(panels[2], places, np.argwhere(np.triu(A)), labels, [f"{a},{b}" for a, b in pairs],
     f"g × h: {len(pairs)} pairs of one label", steps, 620)  # fmt: skip
plt.show()

# %%
# Its walks
# ---------
# 1ᵀA×ᵏ1 counts the walks of k steps that both graphs have; the kernel adds them up with weights λᵏ.
counts = [both.common_walks(k) for k in range(6)]
decay = 0.1
kernel = RandomWalk(decay=decay)
ones = np.ones(len(pairs))
total = ones @ np.linalg.solve(np.eye(len(pairs)) - decay * A, ones)
print("walks in common, k = 0 … 5:", counts)
print(f"Σ λᵏ 1ᵀA×ᵏ1 = {total:.6f}, the kernel says {kernel([g], [h])[0, 0]:.6f}")

# %%
# Tottering
# ---------
# Most long walks go to and fro on one edge and see nothing new. ``tottering=False`` counts only
# walks that never turn round on the edge that they came by: on a chain they end, on the triangle
# they go round.
steps = np.arange(1, 9)
figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained", sharey=True)
for axes, graph, name in zip(panels, (g, h), ("g, with a triangle", "h, a chain"), strict=True):
    every = np.array([walk_counts(graph, int(k)).sum() for k in steps])
    straight = np.array([walk_counts(graph, int(k), tottering=False).sum() for k in steps])
    axes.plot(steps, every, "o-", color="C1")
    axes.plot(steps, np.where(straight > 0, straight, np.nan), "s-", color="C0")
    axes.annotate("all walks", (steps[-3], every[-3]), xytext=(-8, 6), textcoords="offset points",
                  ha="right", color="C1")  # fmt: skip
    axes.annotate("without tottering", (steps[2], straight[2]), xytext=(6, 8),
                  textcoords="offset points", color="C0")  # fmt: skip
    axes.set(title=name, xlabel="steps", yscale="log")
panels[0].set_ylabel("walks")
plt.show()

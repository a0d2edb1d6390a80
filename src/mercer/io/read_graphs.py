"""Sets of graphs in the files of the TU Dortmund collection: a folder, or that folder zipped.

``NAME_A.txt`` has a line ``u, v`` for each arc, nodes counted from 1 over all graphs,
``NAME_graph_indicator.txt`` the graph of each node; the other files are optional.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from mercer import _memory
from mercer.exceptions import InvalidInput
from mercer.kernels.graph_points import Graph

EMBEDDED = {"solubility": "solubility.zip"}
"""Sets of graphs that come with mercer."""

_PARTS = ("graph_indicator", "graph_labels", "graph_attributes", "node_labels", "edge_labels")


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Graphs with the values to predict.

    Attributes
    ----------
    graphs : list of Graph
    target : array or None
        The class of each graph, or a number where the set has numbers to predict.
    """

    name: str
    graphs: list[Graph]
    target: np.ndarray[Any, Any] | None = None

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        nodes = sum(graph.size or 0 for graph in self.graphs) / max(1, len(self))
        target = "no target" if self.target is None else f"target of {self.target.dtype}"
        return f"{self.name}: {len(self):,} graphs of {nodes:.1f} nodes on average, {target}"


def read_graphs(source: Any) -> GraphSet:
    """Read a set of graphs: a folder of the TU Dortmund collection, or its zip file.

    ``"solubility"`` comes with mercer: 1,128 molecules and how well they dissolve in water.

    Edges that the files list in both directions become undirected ones; a graph with an arc that
    has no counterpart is directed. Several labels of a node are one label, a text.
    """
    return _parse(*_texts(source))


def _texts(source: Any) -> tuple[str, dict[str, str]]:
    """Return the name of the set and its files by the part of the name behind it."""
    path = Path(source)
    if path.is_dir():
        files = {file.name: file for file in sorted(path.glob("*.txt"))}
        prefix = _prefix(list(files), str(source))
        return prefix, {
            part: files[f"{prefix}_{part}.txt"].read_text(encoding="utf-8")
            for part in ("A", *_PARTS)
            if f"{prefix}_{part}.txt" in files
        }
    if path.is_file():
        return unzipped(path.read_bytes(), str(source))
    if str(source) in EMBEDDED:
        file = resources.files("mercer.data").joinpath(EMBEDDED[str(source)])
        return unzipped(file.read_bytes(), str(source))
    raise InvalidInput(
        f"There is no folder or zip file {source}, and no set of graphs of that name comes with "
        f"mercer (there is {', '.join(EMBEDDED)}). Check the path."
    )


def unzipped(content: bytes, name: str) -> tuple[str, dict[str, str]]:
    """Return the parts of a set from the bytes of a zip file."""
    try:
        archive = zipfile.ZipFile(BytesIO(content))
    except zipfile.BadZipFile:
        raise InvalidInput(
            f"{name} is neither a folder nor a zip file of the TU Dortmund collection."
        ) from None
    entries = {Path(entry.filename).name: entry for entry in archive.infolist()}
    prefix = _prefix(list(entries), name)
    wanted = {part: f"{prefix}_{part}.txt" for part in ("A", *_PARTS)}
    there = {part: entries[file] for part, file in wanted.items() if file in entries}
    size = sum(entry.file_size for entry in there.values())
    _memory.require(8 * size, f"Reading {name}", "Give a part of it.")
    try:
        return prefix, {part: archive.read(e).decode("utf-8") for part, e in there.items()}
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{name} is a damaged zip file: {error}.") from None


def _prefix(files: list[str], source: str) -> str:
    found = [file.removesuffix("_A.txt") for file in files if file.endswith("_A.txt")]
    found = [name for name in found if f"{name}_graph_indicator.txt" in files]
    if len(found) != 1:
        raise InvalidInput(
            f"{source} holds no set of graphs: exactly one pair of files NAME_A.txt and "
            "NAME_graph_indicator.txt is needed."
        )
    return found[0]


def _parse(name: str, texts: dict[str, str]) -> GraphSet:
    graph_of = _integers(texts["graph_indicator"], f"{name}_graph_indicator.txt", 1)[:, 0] - 1
    arcs = _integers(texts["A"], f"{name}_A.txt", 2) - 1
    if (np.diff(graph_of) < 0).any() or (len(graph_of) and graph_of[0] < 0):
        raise InvalidInput(f"{name}_graph_indicator.txt: the numbers of graphs have to go up.")
    wrong = np.flatnonzero((arcs < 0).any(axis=1) | (arcs >= len(graph_of)).any(axis=1))
    if not len(wrong):
        wrong = np.flatnonzero(graph_of[arcs[:, 0]] != graph_of[arcs[:, 1]])
    if len(wrong):
        raise InvalidInput(
            f"{name}_A.txt, line {wrong[0] + 1}: {arcs[wrong[0], 0] + 1}, {arcs[wrong[0], 1] + 1} "
            "are not two nodes of one graph."
        )
    targets = _targets(name, texts)
    count = len(targets) if targets is not None else int(graph_of.max(initial=-1)) + 1
    if len(graph_of) and graph_of[-1] >= count:
        raise InvalidInput(f"{name}_graph_indicator.txt: there are only {count} graphs.")
    labels = _labels(name, texts, "node_labels", len(graph_of))
    bonds = _labels(name, texts, "edge_labels", len(arcs))
    starts = np.searchsorted(graph_of, np.arange(count + 1))
    order = np.argsort(graph_of[arcs[:, 0]], kind="stable")
    cuts = np.searchsorted(graph_of[arcs[order, 0]], np.arange(count + 1))
    graphs = []
    for g in range(count):
        rows = order[cuts[g] : cuts[g + 1]]
        own = None if labels is None else labels[starts[g] : starts[g + 1]]
        edge_labels = None if bonds is None else bonds[rows]
        size = int(starts[g + 1] - starts[g])
        graphs.append(_graph(arcs[rows] - starts[g], own, edge_labels, size))
    return GraphSet(name, graphs, targets)


def _graph(ends: Any, labels: Any, edge_labels: Any, size: int) -> Graph:
    """Return a graph, as an undirected one where every arc has its counterpart."""
    given = edge_labels if edge_labels is not None else [None] * len(ends)
    arcs = {(u, v): label for (u, v), label in zip(ends.tolist(), given, strict=True)}
    if any((v, u) not in arcs or arcs[v, u] != label for (u, v), label in arcs.items()):
        return Graph(ends, labels, edge_labels, None, size, True)
    edges = [pair for pair in arcs if pair[0] <= pair[1]]
    kept = None if edge_labels is None else np.array([arcs[pair] for pair in edges])
    return Graph(np.array(edges, dtype=np.int64).reshape(-1, 2), labels, kept, None, size)


def _rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()
    ]


def _integers(text: str, file: str, columns: int) -> Any:
    rows = _rows(text)
    for i, row in enumerate(rows):
        if len(row) != columns or not all(cell.lstrip("-").isdecimal() for cell in row):
            what = "a whole number" if columns == 1 else f"{columns} whole numbers"
            raise InvalidInput(f"{file}, line {i + 1}: expected {what}, found {', '.join(row)!r}.")
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def _labels(name: str, texts: dict[str, str], part: str, count: int) -> Any:
    if part not in texts:
        return None
    labels = [", ".join(row) for row in _rows(texts[part])]
    if len(labels) != count:
        raise InvalidInput(f"{name}_{part}.txt has {len(labels):,} lines, not {count:,}.")
    whole = all(label.lstrip("-").isdecimal() for label in labels)
    return np.array(labels, dtype=np.int64 if whole else str)


def _targets(name: str, texts: dict[str, str]) -> Any:
    part = next((part for part in ("graph_labels", "graph_attributes") if part in texts), None)
    if part is None:
        return None
    values = [row[0] for row in _rows(texts[part])]
    for kind in (np.int64, np.float64):
        try:
            found = np.array(values).astype(kind)
        except ValueError:
            continue
        if not np.isfinite(found).all():
            raise InvalidInput(f"{name}_{part}.txt holds a value that is not finite.")
        return found
    return np.array(values)

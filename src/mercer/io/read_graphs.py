"""Sets of graphs in the files of the TU Dortmund collection: a folder, or that folder zipped.

``NAME_A.txt`` has a line ``u, v`` for each arc, nodes counted from 1 over all graphs,
``NAME_graph_indicator.txt`` the graph of each node; the other files are optional.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from mercer import _memory
from mercer._typing import Labels
from mercer.exceptions import InvalidInput
from mercer.io.table_source import RawTable, Source, arrow, find_source
from mercer.kernels.graphs.graph_forms import as_graph_mapping
from mercer.kernels.graphs.graph_points import Graph

_PARTS = (
    "graph_indicator",
    "graph_labels",
    "graph_attributes",
    "node_labels",
    "edge_labels",
    "node_attributes",
)

_WHOLE = re.compile(r"-?[0-9]{1,18}\Z")


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Graphs with the values to predict.

    Attributes
    ----------
    graphs : list of Graph
    target : array or None
        The class of each graph, or a number where the set has numbers to predict; a column for
        each, where there are several.
    name : str
        The name of the set.

    Examples
    --------
    >>> from mercer import ShortestPath, read_graphs
    >>> data = read_graphs("solubility")
    >>> data.name, ShortestPath()(data.graphs[:3]).shape
    ('solubility', (3, 3))
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


def read_graphs(source: str | PathLike[str]) -> GraphSet:
    """Read a set of graphs: a folder of the TU Dortmund collection, or its zip file.

    ``"solubility"`` comes with mercer: 1,128 molecules and how well they dissolve in water.

    Edges that the files list in both directions become undirected ones; a graph with an arc that
    has no counterpart is directed. Several labels of a node are one label, a text. Attributes of
    nodes and edges, which are numbers, are not read.

    Parameters
    ----------
    source : str or path
        The folder or the zip file, or ``"solubility"``.

    Examples
    --------
    >>> from mercer import read_graphs
    >>> data = read_graphs("solubility")
    >>> len(data.graphs), data.graphs[0].labels[:3]
    (1128, array(['O', 'C', 'C'], dtype='<U2'))
    """
    return _parse(*_unzipped(find_source(source)))


def is_graphs(source: Source) -> bool:
    """Tell whether a file is a folder or an archive that should hold a set of graphs."""
    return source.content.startswith(b"PK") and source.suffix == ".zip"


def read_graph_table(source: Source, **options: Any) -> RawTable:
    """Return a set of graphs as a table: the column ``graph``, and ``class`` or ``target``."""
    prefix, texts = _unzipped(source)
    found = _parse(prefix, texts)
    pa = arrow()
    columns = {"graph": pa.array([as_graph_mapping(graph) for graph in found.graphs])}
    if found.target is not None:
        name = "class" if "graph_labels" in texts else "target"
        several = found.target.ndim == 2
        for j, values in enumerate(found.target.T if several else [found.target]):
            columns[f"{name} {j + 1}" if several else name] = pa.array(values)
    notes = () if "node_attributes" not in texts else ("The attributes of nodes are not used.",)
    return RawTable(pa.table(columns), lambda row: f"graph {row + 1}", notes)


def _unzipped(source: Source) -> tuple[str, dict[str, str]]:
    """Return the name of the set and its files by the part of the name behind it."""
    name = source.name
    try:
        archive = zipfile.ZipFile(BytesIO(source.content))
    except zipfile.BadZipFile:
        raise InvalidInput(
            f"{name} is neither a folder nor a zip file that can be opened."
        ) from None
    entries = {Path(entry.filename).name: entry for entry in archive.infolist()}
    prefix = _prefix(list(entries), name)
    wanted = {part: f"{prefix}_{part}.txt" for part in ("A", *_PARTS)}
    there = {part: entries[file] for part, file in wanted.items() if file in entries}
    size = sum(entry.file_size for entry in there.values())
    _memory.require(8 * size, f"Reading {name}", "Give a part of it.")
    texts = {}
    for part, entry in there.items():
        try:
            texts[part] = archive.read(entry).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidInput(f"{name}: {wanted[part]} is not UTF-8 text. Convert it.") from None
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, zlib.error) as error:
            raise InvalidInput(f"{name} is a damaged zip file: {error}.") from None
    return prefix, texts


def _prefix(files: list[str], source: str) -> str:
    found = [file.removesuffix("_A.txt") for file in files if file.endswith("_A.txt")]
    found = [name for name in found if f"{name}_graph_indicator.txt" in files]
    if len(found) != 1:
        raise InvalidInput(
            f"{source} holds no set of graphs: exactly one pair of files NAME_A.txt and "
            "NAME_graph_indicator.txt is needed in a folder or zip file."
        )
    return found[0]


def _parse(name: str, texts: dict[str, str]) -> GraphSet:
    graph_of = _integers(name, texts, "graph_indicator", 1)[:, 0] - 1
    arcs = _integers(name, texts, "A", 2) - 1
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


def _graph(ends: Any, labels: Labels, edge_labels: Labels, size: int) -> Graph:
    """Return a graph, as an undirected one where every arc has its counterpart."""
    given = edge_labels if edge_labels is not None else [None] * len(ends)
    arcs = {(u, v): label for (u, v), label in zip(ends.tolist(), given, strict=True)}
    if any((v, u) not in arcs or arcs[v, u] != label for (u, v), label in arcs.items()):
        return Graph(ends, labels, edge_labels, None, size, True)
    edges = [pair for pair in arcs if pair[0] <= pair[1]]
    kept = None if edge_labels is None else np.array([arcs[pair] for pair in edges])
    return Graph(np.array(edges, dtype=np.int64).reshape(-1, 2), labels, kept, None, size)


def _rows(texts: dict[str, str], name: str, part: str) -> list[list[str]]:
    """Return the cells of each line; a line without any is refused."""
    lines = texts[part].rstrip().splitlines()
    empty = next((i for i, line in enumerate(lines, 1) if not line.strip()), None)
    if empty is not None:
        raise InvalidInput(f"{name}_{part}.txt, line {empty}, is empty. Fill it in or drop it.")
    return [[cell.strip() for cell in line.split(",")] for line in lines]


def _integers(name: str, texts: dict[str, str], part: str, columns: int) -> Any:
    rows = _rows(texts, name, part)
    for i, row in enumerate(rows, 1):
        if len(row) != columns or not all(map(_WHOLE.match, row)):
            what = "a whole number" if columns == 1 else f"{columns} whole numbers"
            raise InvalidInput(
                f"{name}_{part}.txt, line {i}: expected {what}, found {', '.join(row)[:40]!r}."
            )
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def _labels(name: str, texts: dict[str, str], part: str, count: int) -> Any:
    if part not in texts:
        return None
    labels = [", ".join(row) for row in _rows(texts, name, part)]
    if len(labels) != count:
        raise InvalidInput(f"{name}_{part}.txt has {len(labels):,} lines, not {count:,}.")
    whole = all(map(_WHOLE.match, labels))
    return np.array(labels, dtype=np.int64 if whole else str)


def _targets(name: str, texts: dict[str, str]) -> Any:
    """Return the classes or numbers to predict; several for each graph have a column each."""
    part = next((part for part in ("graph_labels", "graph_attributes") if part in texts), None)
    if part is None:
        return None
    rows = _rows(texts, name, part)
    odd = next((i for i, row in enumerate(rows, 1) if len(row) != len(rows[0])), None)
    if odd is not None:
        raise InvalidInput(
            f"{name}_{part}.txt, line {odd}, has {len(rows[odd - 1])} values, and line 1 has "
            f"{len(rows[0])}. Give as many for each graph."
        )
    values = np.array(rows)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if all(_WHOLE.match(cell) for row in rows for cell in row):
        return values.astype(np.int64)
    try:
        found = values.astype(np.float64)
    except ValueError:
        return values
    if not np.isfinite(found).all():
        raise InvalidInput(f"{name}_{part}.txt holds a value that is not finite.")
    return found

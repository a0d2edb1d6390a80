"""Shortest-path kernel against GraKeL."""

from benchmarks.graph_cases import gram_of_graphs
from benchmarks.job import Job


def _cases(scale):
    return [gram_of_graphs("Shortest path", 500, scale, ("ShortestPath", {}), ("ShortestPath", {}))]


JOB = Job("graph_shortest_path", "Shortest paths, 500 labelled graphs", _cases)

"""Weisfeiler–Lehman subtree kernel against GraKeL."""

from benchmarks.graph_cases import gram_of_graphs
from benchmarks.job import Job


def _cases(scale):
    return [
        gram_of_graphs(
            "WL, 5 rounds",
            2_000,
            scale,
            ("WeisfeilerLehman", {"rounds": 5}),
            ("WeisfeilerLehman", {"n_iter": 5}),
        )
    ]


JOB = Job("graph_weisfeiler_lehman", "WL, 5 rounds, 2,000 labelled graphs", _cases)

"""Weisfeiler–Lehman subtree kernel against GraKeL."""

from benchmarks.graph_cases import gram_of_graphs, gram_of_networkx
from benchmarks.job import Job

OUR_KERNEL = ("WeisfeilerLehman", {"rounds": 5})
GRAKEL_KERNEL = ("WeisfeilerLehman", {"n_iter": 5})


def _cases(scale):
    return [
        gram_of_graphs("WL, 5 rounds", 2_000, scale, OUR_KERNEL, GRAKEL_KERNEL),
        gram_of_networkx("WL, 5 rounds", 1_000, scale, OUR_KERNEL, GRAKEL_KERNEL),
    ]


JOB = Job("graph_weisfeiler_lehman", "WL, 5 rounds, matrices and networkx graphs", _cases)

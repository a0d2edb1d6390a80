"""Norms of vectors, their duals, and pictures of their unit balls."""

from mercer.problems.norm_check import (
    NormReport as NormReport,
    NormViolation as NormViolation,
    check_norm as check_norm,
)
from mercer.problems.vector_norms import (
    L0 as L0,
    Lp as Lp,
    Norm as Norm,
    Quadratic as Quadratic,
    inner as inner,
    l1 as l1,
    l2 as l2,
    linf as linf,
    mahalanobis as mahalanobis,
)

"""All compiled code. Modules load on first use, so that importing mercer does not import Numba."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer._fast import (
        active_set as active_set,
        adjacency_bytes as adjacency_bytes,
        alignment as alignment,
        alignment_slopes as alignment_slopes,
        box_ascent as box_ascent,
        box_parts as box_parts,
        box_qp as box_qp,
        column_lasso as column_lasso,
        column_products as column_products,
        contractions as contractions,
        coordinate as coordinate,
        dot_products as dot_products,
        exponentials as exponentials,
        forced_moves as forced_moves,
        gaussian_factors as gaussian_factors,
        kinked_loss as kinked_loss,
        kmers as kmers,
        krylov as krylov,
        lasso as lasso,
        log_cosh as log_cosh,
        logistic as logistic,
        multiclass as multiclass,
        multinomial as multinomial,
        neighbours as neighbours,
        network as network,
        pairwise as pairwise,
        perceptron as perceptron,
        piecewise as piecewise,
        refinement as refinement,
        secants as secants,
        shapley as shapley,
        shifted as shifted,
        shortest_paths as shortest_paths,
        smo as smo,
        sparse_rows as sparse_rows,
        squared_loss as squared_loss,
        subsequence_slopes as subsequence_slopes,
        subsequences as subsequences,
        tiles as tiles,
        walks as walks,
        warm as warm,
        weighted_sums as weighted_sums,
        without_rows as without_rows,
    )


def __getattr__(name: str) -> Any:
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")

"""The same machines over many computers, by Dask."""

from mercer.exceptions import MissingDependency

try:
    import dask.array as _array
    import distributed as _distributed
except ImportError as error:
    raise MissingDependency(
        "mercer.distributed needs Dask. Install it with pip install 'mercer[dask]'."
    ) from error

from mercer.distributed.fits import fit as fit, predict as predict
from mercer.distributed.gram import DaskGram, kernel_matrix as kernel_matrix
from mercer.distributed.landmark_choice import choose_landmarks as choose_landmarks

Gram = DaskGram

del DaskGram, MissingDependency, _array, _distributed

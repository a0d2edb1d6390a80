"""The few type names that the whole library shares."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Index: TypeAlias = slice | NDArray[np.intp]
Array: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.intp]

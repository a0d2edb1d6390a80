"""How dependent and how Gaussian samples are: entropy, kurtosis, mutual information.

A public face of ``mercer.problems.entropy``.
"""

from mercer.problems.entropy import (
    amari_distance as amari_distance,
    differential_entropy as differential_entropy,
    kurtosis as kurtosis,
    mutual_information as mutual_information,
    negentropy as negentropy,
)

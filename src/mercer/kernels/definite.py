"""What is known about the definiteness of a kernel from the way it was built."""

from enum import IntEnum


class Definite(IntEnum):
    """How much is known of Σᵢⱼ cᵢ cⱼ k(xᵢ, xⱼ) ≥ 0; the order is the order of trust.

    ``CONDITIONAL`` kernels satisfy it for all c with Σ cᵢ = 0.

    Examples
    --------
    >>> from mercer import RBF, NegativeDistance, Sigmoid
    >>> (RBF() + RBF() * RBF()).definite.name, NegativeDistance().definite.name
    ('POSITIVE', 'CONDITIONAL')
    >>> (RBF() + Sigmoid()).definite.name
    'INDEFINITE'
    """

    INDEFINITE = 0
    UNKNOWN = 1
    CONDITIONAL = 2
    POSITIVE = 3

    @property
    def words(self) -> str:
        """Say it in words."""
        return _WORDS[self]


_WORDS = {
    Definite.INDEFINITE: "not positive semi-definite in general",
    Definite.UNKNOWN: "not known to be positive semi-definite",
    Definite.CONDITIONAL: "conditionally positive definite",
    Definite.POSITIVE: "positive semi-definite",
}


def of_sum(left: Definite, right: Definite) -> Definite:
    """Return what is known of k₁ + k₂."""
    return min(left, right)


def of_product(left: Definite, right: Definite) -> Definite:
    """Return what is known of k₁ · k₂ (Schur: both have to be positive)."""
    return _positive_if(left is right is Definite.POSITIVE)


def of_scaling(kernel: Definite, factor: float) -> Definite:
    """Return what is known of c · k with c ≥ 0."""
    return kernel if factor > 0 else Definite.POSITIVE


def of_power(kernel: Definite, exponent: float, divisible: bool) -> Definite:
    """Return what is known of k^p; a fractional power needs an infinitely divisible kernel."""
    if exponent == 0:
        return Definite.POSITIVE
    closed = divisible or float(exponent).is_integer()
    return _positive_if(kernel is Definite.POSITIVE and closed)


def of_exponential(kernel: Definite) -> Definite:
    """Return what is known of exp(k) (Schoenberg: conditional definiteness is enough)."""
    return _positive_if(kernel >= Definite.CONDITIONAL)


def of_power_series(kernel: Definite) -> Definite:
    """Return what is known of Σ aᵢ kⁱ with aᵢ ≥ 0."""
    return _positive_if(kernel is Definite.POSITIVE)


def of_normalisation(kernel: Definite) -> Definite:
    """Return what is known of k / √(k(x,x) k(z,z))."""
    return _positive_if(kernel is Definite.POSITIVE)


def of_centring(kernel: Definite) -> Definite:
    """Return what is known of a Gram matrix centred in feature space."""
    return Definite.POSITIVE if kernel is Definite.CONDITIONAL else kernel


def _positive_if(holds: bool) -> Definite:
    return Definite.POSITIVE if holds else Definite.UNKNOWN

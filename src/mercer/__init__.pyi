"""The public names of mercer and the modules they live in; read by ``__init__.py`` too."""

from mercer.data import load_data as load_data
from mercer.estimators.binary import BinaryMachine as BinaryMachine
from mercer.estimators.certify import certify as certify
from mercer.estimators.linear_svm import LinearSVC as LinearSVC, LinearSVR as LinearSVR
from mercer.estimators.svc import SVC as SVC, NuSVC as NuSVC
from mercer.estimators.svr import SVR as SVR, NuSVR as NuSVR, OneClassSVM as OneClassSVM
from mercer.exceptions import (
    IndefiniteKernelWarning as IndefiniteKernelWarning,
    InvalidInput as InvalidInput,
    InvalidParameter as InvalidParameter,
    InvalidType as InvalidType,
    MercerError as MercerError,
    NoFeatureMap as NoFeatureMap,
    NoGradient as NoGradient,
    NotEnoughMemory as NotEnoughMemory,
    NotPositiveDefinite as NotPositiveDefinite,
    NotSeparable as NotSeparable,
    NumericalOverflow as NumericalOverflow,
)
from mercer.gram.centring import CentredGram as CentredGram, Centring as Centring
from mercer.gram.expansion import Expansion as Expansion
from mercer.gram.operator import FeatureGram as FeatureGram, Gram as Gram
from mercer.gram.repair import Repair as Repair, repair as repair
from mercer.kernels.base import Kernel as Kernel
from mercer.kernels.categorical import Delta as Delta, Overlap as Overlap
from mercer.kernels.constant import Constant as Constant, White as White
from mercer.kernels.definite import Definite as Definite
from mercer.kernels.dot import (
    Cosine as Cosine,
    Linear as Linear,
    Polynomial as Polynomial,
    Sigmoid as Sigmoid,
)
from mercer.kernels.explicit import (
    GaussianBasis as GaussianBasis,
    Monomials as Monomials,
    RandomFourierFeatures as RandomFourierFeatures,
)
from mercer.kernels.features import Features as Features
from mercer.kernels.histogram import (
    AdditiveChi2 as AdditiveChi2,
    Chi2 as Chi2,
    Intersection as Intersection,
)
from mercer.kernels.radial import (
    RBF as RBF,
    Laplacian as Laplacian,
    Matern as Matern,
    NegativeDistance as NegativeDistance,
    Periodic as Periodic,
    RationalQuadratic as RationalQuadratic,
)
from mercer.kernels.wrappers import FunctionKernel as FunctionKernel, Precomputed as Precomputed
from mercer.problems.certificate import Certificate as Certificate
from mercer.testing.check import KernelReport as KernelReport, check_kernel as check_kernel

__version__: str

"""The public names of mercer and the modules they live in; read by ``__init__.py`` too."""

from mercer.data import load_data as load_data
from mercer.estimators.automatic.auto_classifier import AutoClassifier as AutoClassifier
from mercer.estimators.automatic.auto_regressor import AutoRegressor as AutoRegressor
from mercer.estimators.certify import certify as certify
from mercer.estimators.conformal.conformal import Conformal as Conformal
from mercer.estimators.feature_map import FeatureMap as FeatureMap
from mercer.estimators.gp.gaussian_process import (
    GaussianProcessRegressor as GaussianProcessRegressor,
)
from mercer.estimators.gp.gp_classifier import (
    GaussianProcessClassifier as GaussianProcessClassifier,
)
from mercer.estimators.gp.gp_easy import GP as GP
from mercer.estimators.linear.kernel_logistic import (
    KernelLogisticRegression as KernelLogisticRegression,
)
from mercer.estimators.linear.linear_svm import LinearSVC as LinearSVC, LinearSVR as LinearSVR
from mercer.estimators.linear.logistic_regression import LogisticRegression as LogisticRegression
from mercer.estimators.linear.norm_regressor import NormRegressor as NormRegressor
from mercer.estimators.linear.paths import enet_path as enet_path, lasso_path as lasso_path
from mercer.estimators.linear.penalty_regressor import PenaltyRegressor as PenaltyRegressor
from mercer.estimators.linear.ridge_regression import Ridge as Ridge
from mercer.estimators.linear.ridge_weights import (
    WeightPath as WeightPath,
    ridge_path as ridge_path,
)
from mercer.estimators.linear.sparse import (
    ElasticNet as ElasticNet,
    Lasso as Lasso,
)
from mercer.estimators.multiple_kernel.learn_weights import (
    LearntWeights as LearntWeights,
    learn_weights as learn_weights,
)
from mercer.estimators.multiple_kernel.weighing_machines import (
    MultipleKernelClassifier as MultipleKernelClassifier,
    MultipleKernelRegressor as MultipleKernelRegressor,
)
from mercer.estimators.network.kernel_perceptron import KernelPerceptron as KernelPerceptron
from mercer.estimators.network.mlp import (
    MLPClassifier as MLPClassifier,
    MLPRegressor as MLPRegressor,
)
from mercer.estimators.network.perceptron import Adaline as Adaline, Perceptron as Perceptron
from mercer.estimators.nystrom_map import NystromMap as NystromMap
from mercer.estimators.ridge.kernel_ridge import KernelRidge as KernelRidge
from mercer.estimators.ridge.kernel_ridge_classifier import (
    KernelRidgeClassifier as KernelRidgeClassifier,
)
from mercer.estimators.scaling import NumericScaler as NumericScaler
from mercer.estimators.semi.laplacian_ridge import LaplacianRidge as LaplacianRidge
from mercer.estimators.semi.laplacian_svc import LaplacianSVC as LaplacianSVC
from mercer.estimators.semi.unlabelled import labelled_folds as labelled_folds
from mercer.estimators.sources.fast_ica import FastICA as FastICA
from mercer.estimators.sources.ica import ICA as ICA
from mercer.estimators.stream.streamed import StreamedRidge as StreamedRidge
from mercer.estimators.stream.streamed_classifier import StreamedClassifier as StreamedClassifier
from mercer.estimators.subspace.discriminant import (
    LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
)
from mercer.estimators.subspace.kernel_discriminant import KernelDiscriminant as KernelDiscriminant
from mercer.estimators.subspace.kernel_pca import KernelPCA as KernelPCA
from mercer.estimators.subspace.pca import PCA as PCA
from mercer.estimators.subspace.whitening import Whitening as Whitening
from mercer.estimators.svm.binary import BinaryMachine as BinaryMachine
from mercer.estimators.svm.svc import SVC as SVC, NuSVC as NuSVC
from mercer.estimators.svm.svr import SVR as SVR, NuSVR as NuSVR, OneClassSVM as OneClassSVM
from mercer.exceptions import (
    CannotSave as CannotSave,
    ClusterFailure as ClusterFailure,
    DisconnectedGraphWarning as DisconnectedGraphWarning,
    GaussianSourcesWarning as GaussianSourcesWarning,
    IndefiniteKernelWarning as IndefiniteKernelWarning,
    Infeasible as Infeasible,
    InvalidCheckpoint as InvalidCheckpoint,
    InvalidExpression as InvalidExpression,
    InvalidInput as InvalidInput,
    InvalidModelFile as InvalidModelFile,
    InvalidParameter as InvalidParameter,
    InvalidType as InvalidType,
    MercerError as MercerError,
    MissingDependency as MissingDependency,
    NoFeatureMap as NoFeatureMap,
    NoGradient as NoGradient,
    NotEnoughMemory as NotEnoughMemory,
    NotPositiveDefinite as NotPositiveDefinite,
    NotSeparable as NotSeparable,
    NumericalOverflow as NumericalOverflow,
)
from mercer.explanations.deciding_rows import (
    DecidingRows as DecidingRows,
    deciding_rows as deciding_rows,
)
from mercer.explanations.dependence import (
    PartialDependence as PartialDependence,
    partial_dependence as partial_dependence,
)
from mercer.explanations.explanation import Explanation as Explanation
from mercer.explanations.leave_one_out import (
    LeaveOneOut as LeaveOneOut,
    leave_one_out as leave_one_out,
)
from mercer.explanations.permutation import (
    PermutationImportance as PermutationImportance,
    permutation_importance as permutation_importance,
)
from mercer.explanations.shapley import explain as explain
from mercer.explanations.within import Within as Within, explain_within as explain_within
from mercer.explanations.wrong_rows import WrongRows as WrongRows, wrong_rows as wrong_rows
from mercer.generative.hidden_markov import HiddenMarkovModel as HiddenMarkovModel
from mercer.generative.mixture import GaussianMixture as GaussianMixture
from mercer.generative.normal import Gaussian as Gaussian
from mercer.gram.centring import CentredGram as CentredGram, Centring as Centring
from mercer.gram.computed import Gram as Gram
from mercer.gram.expansion import Expansion as Expansion
from mercer.gram.feature_gram import FeatureGram as FeatureGram
from mercer.gram.repair import Repair as Repair, repair as repair
from mercer.io.column_kinds import Proposal as Proposal, auto_kernel as auto_kernel
from mercer.io.models import load as load, load_record as load_record, save as save
from mercer.io.read_chunks import open_chunks as open_chunks
from mercer.io.read_graphs import GraphSet as GraphSet, read_graphs as read_graphs
from mercer.io.read_series import read_series as read_series
from mercer.io.table_schema import Schema as Schema
from mercer.io.tables import Prepared as Prepared, Table as Table, read_table as read_table
from mercer.kernels.base import Kernel as Kernel
from mercer.kernels.definite import Definite as Definite
from mercer.kernels.encoders import Encoder as Encoder
from mercer.kernels.expression import (
    format_kernel as format_kernel,
    parse_kernel as parse_kernel,
)
from mercer.kernels.features import Features as Features
from mercer.kernels.graphs.graph_points import Graph as Graph
from mercer.kernels.graphs.graph_walks import (
    ProductGraph as ProductGraph,
    product_graph as product_graph,
    walk_counts as walk_counts,
)
from mercer.kernels.graphs.random_walk import RandomWalk as RandomWalk
from mercer.kernels.graphs.refinement import (
    ShortestPath as ShortestPath,
    WeisfeilerLehman as WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment as WeisfeilerLehmanOptimalAssignment,
)
from mercer.kernels.map_kernel import MapKernel as MapKernel
from mercer.kernels.points import (
    Categories as Categories,
    Leaf as Leaf,
    Objects as Objects,
    Vectors as Vectors,
)
from mercer.kernels.series.alignment import (
    DTW as DTW,
    GlobalAlignment as GlobalAlignment,
    dtw_distances as dtw_distances,
)
from mercer.kernels.strings.kmers import (
    GappyKmer as GappyKmer,
    Mismatch as Mismatch,
    Spectrum as Spectrum,
)
from mercer.kernels.strings.subsequences import Subsequence as Subsequence
from mercer.kernels.strings.substrings import Substrings as Substrings
from mercer.kernels.strings.words import BagOfWords as BagOfWords
from mercer.kernels.trees.subtrees import SubsetTree as SubsetTree, Subtree as Subtree
from mercer.kernels.vectors.categorical import Delta as Delta, Overlap as Overlap
from mercer.kernels.vectors.constant import Constant as Constant, White as White
from mercer.kernels.vectors.dot import (
    Cosine as Cosine,
    Linear as Linear,
    Polynomial as Polynomial,
    Sigmoid as Sigmoid,
)
from mercer.kernels.vectors.explicit import (
    FeatureKernel as FeatureKernel,
    GaussianBasis as GaussianBasis,
    Monomials as Monomials,
    RandomFourierFeatures as RandomFourierFeatures,
)
from mercer.kernels.vectors.fisher import Fisher as Fisher
from mercer.kernels.vectors.histogram import (
    AdditiveChi2 as AdditiveChi2,
    Chi2 as Chi2,
    Intersection as Intersection,
)
from mercer.kernels.vectors.matern import (
    Matern as Matern,
    Periodic as Periodic,
    RationalQuadratic as RationalQuadratic,
)
from mercer.kernels.vectors.radial import (
    RBF as RBF,
    Laplacian as Laplacian,
    NegativeDistance as NegativeDistance,
    Radial as Radial,
)
from mercer.kernels.wrappers import FunctionKernel as FunctionKernel, Precomputed as Precomputed
from mercer.landmarks.choose import Nystrom as Nystrom
from mercer.landmarks.chunks import ArrayChunks as ArrayChunks, Chunk as Chunk, Chunks as Chunks
from mercer.landmarks.nystrom_kernel import NystromKernel as NystromKernel
from mercer.problems.certificate import Certificate as Certificate
from mercer.problems.penalties import (
    L1 as L1,
    L2 as L2,
    DeadZone as DeadZone,
    Huber as Huber,
    LargeError as LargeError,
    LogBarrier as LogBarrier,
    Penalty as Penalty,
    Quantile as Quantile,
)
from mercer.report.gather import describe as describe
from mercer.report.record import Record as Record
from mercer.report.view import write_proof as write_proof, write_report as write_report
from mercer.study.comparison import Comparison as Comparison, compare as compare
from mercer.study.study import Study as Study
from mercer.testing.check import KernelReport as KernelReport, check_kernel as check_kernel
from mercer.tuning.search import GridSearchCV as GridSearchCV
from mercer.tuning.tune import tune as tune

__version__: str

"""scikit-learn's own tests, run with mercer's classes in the place of its own.

Every test that fails is listed here with the reason; one that fails without a reason, or passes in
spite of one, fails here. The documentation shows the list and the counts:
``python -m tests.estimators.stand_in_list`` writes them anew.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.estimators import stand_in_list

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Suite:
    """A test module of scikit-learn and what is known about it."""

    module: str
    places: str  # What mercer replaces, as the plugin reads it.
    least: int  # Fewer tests that pass mean that something was not run.
    chosen: str = ""  # As pytest's -k: without other classes and private functions.
    known: dict[str, str] = field(default_factory=dict)


NOT_DEPRECATED = "probability is deprecated in scikit-learn, here it is calibrated and stays"

MACHINES = " ".join(
    f"sklearn.svm:{name}"
    for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")
)
LINEAR = " ".join(
    f"sklearn.linear_model:{name}"
    for name in ("Lasso", "ElasticNet", "Ridge", "lasso_path", "enet_path")
)
LOGISTIC = (
    "sklearn.linear_model:LogisticRegression sklearn.linear_model._logistic:LogisticRegression"
)
NETWORKS = (
    "sklearn.linear_model:Perceptron "
    "sklearn.neural_network:MLPClassifier sklearn.neural_network:MLPRegressor"
)
PROCESSES = (
    "sklearn.gaussian_process:GaussianProcessRegressor "
    "sklearn.gaussian_process:GaussianProcessClassifier"
)
SUBSPACES = "sklearn.decomposition:PCA sklearn.decomposition:KernelPCA"

SUITES = (
    Suite(
        "svm.tests.test_svm",
        MACHINES,
        least=100,
        known={
            "test_svr_errors": "a kernel function that returns a matrix of the wrong shape is "
            "refused by fit already, not by predict",
            "test_tweak_params": "the private _dual_coef_ has the sign of the public dual_coef_",
            "test_linear_svm_convergence_warnings": "the toy problem is solved in fewer rounds "
            "than the two after which LIBLINEAR gives up",
            "test_probability_raises_futurewarning": NOT_DEPRECATED,
            "test_svc_nusvc_probA_probB_deprecated": NOT_DEPRECATED,
        },
    ),
    Suite(
        "svm.tests.test_sparse",
        MACHINES,
        least=100,
    ),
    Suite(
        "linear_model.tests.test_coordinate_descent",
        LINEAR,
        least=198,
        # The machines of enet_cv are scikit-learn's own.
        chosen="not loky and not cv_grid_search and not test_enet_cv_sample_weight_consistency",
        known={
            "test_enet_nonfinite_params": "numbers whose squares overflow are refused in words of "
            "our own, before the first round",
            "test_lasso_dual_gap": "the gap of the test is rounding, 2e-15; ours is other rounding",
            "test_warm_start": "a first fit of few rounds spends some of them on larger penalties, "
            "which a warm start does not: 5 and 5 rounds are not 10",
            "test_check_input_false": "data in any order are taken without checks too",
            "test_enet_copy_X_False_check_input_False": "X is never changed",
        },
    ),
    Suite("linear_model.tests.test_sparse_coordinate_descent", LINEAR, least=100),
    Suite(
        "linear_model.tests.test_ridge",
        LINEAR,
        least=100,
        chosen="not gcv and not cv and not Classifier and not class and not sag and not "
        "CenterStackOp and not compute_ and not array_api and not lbfgs_solver_consistency",
        known={
            "test_n_iter": "lsqr and sag are names only: a factorisation takes no rounds",
            "test_lbfgs_solver_error": "weights ≥ 0 are found where L-BFGS gives up",
        },
    ),
    Suite(
        "linear_model.tests.test_logistic",
        LOGISTIC,
        least=215,
        chosen="not CV and not cv and not path and not array_api and not callback",
        known={
            "test_liblinear_dual_random_state": "nothing is random",
            "test_liblinear_with_large_values": "large values do not freeze a fit",
            "test_large_sparse_matrix": "64-bit indices are fine",
            "test_newton_cholesky_fallback_to_lbfgs": "without digits left for the penalty it "
            "warns",
        },
    ),
    Suite("linear_model.tests.test_perceptron", NETWORKS, least=6),
    Suite(
        "neural_network.tests.test_mlp",
        NETWORKS,
        least=50,
        known={
            "test_gradient": "it calls a private method; ours are in test_mlp.py",
            "test_verbose_sgd": "the course is logged, a library does not print",
        },
    ),
    Suite("tests.test_kernel_ridge", "sklearn.kernel_ridge:KernelRidge", least=8),
    Suite(
        "gaussian_process.tests.test_gpr",
        PROCESSES,
        least=30,
        known={
            "test_no_optimizer": "without a kernel, kernel_ is one of mercer's and has no theta",
            "test_gpr_correct_error_message": "a singular matrix takes jitter, with a warning",
        },
    ),
    Suite(
        "gaussian_process.tests.test_gpc",
        PROCESSES,
        least=30,
        known={
            "test_predict_consistent_structured": "a tie: the latent function is 0 everywhere, "
            "and probabilities of ½ are off by rounding",
        },
    ),
    Suite(
        "decomposition.tests.test_pca",
        SUBSPACES,
        least=25,
        # The variants on sparse data take minutes; test_pca.py has sparse data of its own.
        chosen="not array_api and not test_pca_sparse",
        known={
            "test_pca_score": "with whiten=True scikit-learn multiplies the variances into its "
            "covariance twice, so its likelihood falls; here whitening leaves the model as it is",
            "test_pca_svd_solver_auto": "where scikit-learn takes the randomised method, mercer "
            "takes block Lanczos, whose answer is exact",
        },
    ),
    Suite(
        "decomposition.tests.test_kernel_pca",
        SUBSPACES,
        least=25,
    ),
    Suite(
        "decomposition.tests.test_fastica",
        # The function fastica builds the class of its own module.
        "sklearn.decomposition:FastICA sklearn.decomposition._fastica:FastICA",
        least=30,
    ),
    Suite(
        "model_selection.tests.test_search",
        "sklearn.model_selection:GridSearchCV",
        least=100,
        # Candidates drawn at random and halved are searches of scikit-learn's own.
        chosen="not random and not Random and not halving and not Halving",
    ),
    Suite(
        "tests.test_discriminant_analysis",
        "sklearn.discriminant_analysis:LinearDiscriminantAnalysis",
        least=25,
        chosen="not qda and not array_api",
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What came of the tests of one module: which failed, and how many passed."""

    passed: int
    failed: tuple[str, ...]  # The names, one for each variant.

    @property
    def total(self) -> int:
        return self.passed + len(self.failed)


def with_our_classes(places: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    # One case of PCA passes with one thread of BLAS and fails with two.
    environment = {**os.environ, "STAND_IN": places, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=900
    )


def outcome_of(suite: Suite) -> Outcome:
    """Run a test module of scikit-learn with our classes."""
    options = ["-q", "-rf", "--tb=no", "--no-header", "-c", "/dev/null"]
    plugins = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.estimators.stand_in"]
    chosen = ["-k", suite.chosen, "--pyargs", f"sklearn.{suite.module}"]
    run = with_our_classes(suite.places, "-m", "pytest", *options, *plugins, *chosen)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", run.stdout)}
    failed = re.findall(r"^FAILED \S*::(\w+)", run.stdout, re.M)
    for name in sorted(set(failed)):
        print(f"{name}: {suite.known.get(name, 'NOT KNOWN')}")
    assert counts.get("failed", 0) == len(failed), run.stdout
    assert "error" not in counts, run.stdout
    return Outcome(counts["passed"], tuple(failed))


LONG = ("test_sparse", "test_sparse_coordinate_descent", "test_ridge", "test_logistic", "test_mlp",
        "test_gpr", "test_search")  # fmt: skip
"""Modules of hundreds of tests that take half a minute each: CI runs them among the attacks."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "suite",
    [
        pytest.param(suite, id=suite.module, marks=[pytest.mark.attack] if is_long else [])
        for suite in SUITES
        for is_long in [suite.module.rpartition(".")[2] in LONG]
    ],
)
def test_scikit_learns_tests(suite):
    outcome = outcome_of(suite)
    assert set(outcome.failed) == set(suite.known)
    assert outcome.passed >= suite.least
    known = stand_in_list.read_counts()
    if known.version == stand_in_list.version():
        listed = known.counts[suite.module]
        # A case of a test that fails may pass in one run or another: PCA's score by ARPACK does.
        assert outcome.total == listed.total, stand_in_list.HOW
        assert outcome.passed >= listed.passed, stand_in_list.HOW


def test_the_list_of_differences_is_current():
    """Reasons and counts in the documentation are those of the tests."""
    known = stand_in_list.read_counts()
    assert list(known.counts) == [suite.module for suite in SUITES], stand_in_list.HOW
    page = stand_in_list.PAGE.read_text(encoding="utf-8")
    assert page == stand_in_list.page_of(SUITES, known), stand_in_list.HOW


def test_the_plugin_puts_our_classes_in_place():
    places = sorted({place for suite in SUITES for place in suite.places.split()})
    parts = [place.split(":") for place in places]
    looks = "; ".join(f"import {home}; print({home}.{name}.__module__)" for home, name in parts)
    run = with_our_classes(" ".join(places), "-c", f"import tests.estimators.stand_in; {looks}")
    modules = run.stdout.split()
    assert len(modules) == len(parts), run.stderr
    assert all(module.startswith("mercer.") for module in modules)

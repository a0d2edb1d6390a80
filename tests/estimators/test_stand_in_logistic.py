"""scikit-learn's own tests of logistic regression, run with mercer's in its place."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

# Another class, private functions, and what needs a second array library.
SKIPPED = "not CV and not cv and not path and not array_api and not callback"
NO_L1 = "the penalty is ℓ₂"
KNOWN = {
    **dict.fromkeys(
        (
            "test_logreg_l1",
            "test_saga_vs_liblinear",
            "test_elastic_net_coeffs",
            "test_elastic_net_l1_l2_equivalence",
            "test_elastic_net_vs_l1_l2",
            "test_elastic_net_versus_sgd",
            "test_LogisticRegression_elastic_net_objective",
            "test_scores_attribute_layout_elasticnet",
            "test_l1_ratio_non_elasticnet",
            "test_lr_penalty_l1ratio_incompatible",
            "test_liblinear_not_stuck",
            "test_logisticregression_liblinear_sample_weight",
            "test_sample_and_class_weight_equivalence_liblinear",
        ),
        NO_L1,
    ),
    "test_max_iter": "the warning has other words, and few steps can be enough",
    "test_liblinear_dual_random_state": "nothing is random",
    "test_liblinear_with_large_values": "large values do not freeze a fit",
    "test_large_sparse_matrix": "64-bit indices are fine",
    "test_zero_max_iter": "the bias is the best one for the weights from the start",
    "test_newton_cholesky_fallback_to_lbfgs": "without digits left for the penalty it warns",
}


@pytest.mark.slow
def test_scikit_learns_tests():
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "--no-header"]
    command += ["-c", "/dev/null", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-p", "tests.estimators.stand_in_logistic", "-k", SKIPPED]
    command += ["--pyargs", "sklearn.linear_model.tests.test_logistic"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=900)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", run.stdout)}
    failed = re.findall(r"^FAILED \S*::(\w+)", run.stdout, re.M)
    for name in sorted(set(failed)):
        print(f"{name}: {KNOWN.get(name, 'NOT KNOWN')}")
    assert set(failed) == set(KNOWN), run.stdout
    assert counts.get("failed", 0) == len(failed)
    assert "error" not in counts
    assert counts["passed"] > 100


def test_the_plugin_puts_our_regression_in_place():
    code = (
        "import tests.estimators.stand_in_logistic, sklearn.linear_model as m; "
        "print(m.LogisticRegression.__module__)"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert run.stdout.split() == ["mercer.estimators.logistic"], run.stderr

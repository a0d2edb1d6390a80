"""scikit-learn's own tests of its linear regressions, run with mercer's in their place."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

OTHERS = "not gcv and not cv and not Classifier and not class and not sag and not CenterStackOp"
PRIVATE = "not compute_ and not array_api and not lbfgs_solver_consistency"
SKIPPED = {
    "test_coordinate_descent": "not loky and not cv_grid_search",
    "test_sparse_coordinate_descent": "",
    # Other classes, and private functions of scikit-learn.
    "test_ridge": f"{OTHERS} and {PRIVATE}",
}
KNOWN = {
    "test_coordinate_descent": {
        "test_enet_nonfinite_params": "float32 data are computed in float64, where they do not "
        "overflow",
        "test_lasso_dual_gap": "the gap of the test is rounding; ours is cut off at zero",
        "test_warm_start": "five rounds are enough already for the first fit",
        "test_warm_start_convergence_with_regularizer_decrement": "both fits take the same few "
        "rounds",
        "test_sparse_dense_descent_paths": "a path has one target",
        "test_check_input_false": "data in any order are taken without checks too",
        "test_enet_copy_X_False_check_input_False": "X is never changed",
        "test_path_function_deprecated_n_alphas": "n_alphas was never here",
    },
    "test_sparse_coordinate_descent": {},
    "test_ridge": {
        "test_n_iter": "lsqr and sag are names only: a factorisation takes no rounds",
        "test_lbfgs_solver_error": "weights ≥ 0 are found where L-BFGS gives up",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("module", KNOWN)
def test_scikit_learns_tests(module):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "--no-header"]
    command += ["-c", "/dev/null", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-p", "tests.estimators.stand_in_linear", "-k", SKIPPED[module]]
    command += ["--pyargs", f"sklearn.linear_model.tests.{module}"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=900)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", run.stdout)}
    failed = re.findall(r"^FAILED \S*::(\w+)", run.stdout, re.M)
    for name in sorted(set(failed)):
        print(f"{name}: {KNOWN[module].get(name, 'NOT KNOWN')}")
    assert set(failed) == set(KNOWN[module]), run.stdout
    assert counts.get("failed", 0) == len(failed)
    assert "error" not in counts
    assert counts["passed"] > 100


def test_the_plugin_puts_our_regressions_in_place():
    code = (
        "import tests.estimators.stand_in_linear, sklearn.linear_model as m; "
        "print(m.Lasso.__module__, m.Ridge.__module__)"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert run.stdout.split() == ["mercer.estimators.linear", "mercer.estimators.ridge"], run.stderr

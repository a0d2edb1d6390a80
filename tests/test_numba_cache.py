"""Compiled functions: the second process finds them all in Numba's cache."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import textwrap

import pytest

from mercer import _fast

# For each module of _fast, code that runs every function of it, for float32 and float64.
EXERCISES = {
    "pairwise": """
        import numpy as np
        from mercer import Chi2, Delta, Gram, Intersection, Laplacian, Overlap, RBF

        X = np.abs(np.random.default_rng(0).normal(size=(40, 5)))
        for dtype in (np.float64, np.float32):
            A = X.astype(dtype)
            for kernel in (RBF(0.3), Laplacian(0.3), Intersection(), Chi2(0.5)):
                for gram in (Gram(kernel, A), Gram(kernel, A, A[:7])):
                    gram.dense()
                    gram.rows([1, 5, 3])
                    gram @ np.ones(gram.shape[1])
                    gram @ np.ones((gram.shape[1], 2), dtype=np.float32)
        words = np.random.default_rng(1).choice(["a", "b", "c"], size=(40, 3))
        for kernel in (Delta(), Overlap()):
            Gram(kernel, words).dense()
    """,
}

REPORT = """
import importlib, json
from numba.core.dispatcher import Dispatcher

found = {{}}
for module_name in {modules}:
    module = importlib.import_module(f"mercer._fast.{{module_name}}")
    for name, value in vars(module).items():
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__:
            found[f"{{module_name}}.{{name}}"] = {{
                "signatures": [str(signature) for signature in value.signatures],
                "hits": sum(value.stats.cache_hits.values()),
                "misses": sum(value.stats.cache_misses.values()),
                "options": {{key: bool(on) for key, on in value.targetoptions.items()}},
            }}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """Run the same job in two processes, one after the other, with a cache of their own."""
    environment = os.environ | {"MERCER_THREADS": "2"}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path_factory.mktemp("numba"))
    jobs = [textwrap.dedent(code) for code in EXERCISES.values()]
    code = "\n".join([*jobs, REPORT.format(modules=list(EXERCISES))])
    outputs = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment
        )
        assert run.returncode == 0, run.stderr
        outputs.append(json.loads(run.stdout))
    return outputs


def test_every_module_of_compiled_functions_is_exercised():
    modules = {info.name for info in pkgutil.iter_modules(_fast.__path__)} - {"jit"}
    assert modules <= set(EXERCISES), "add code that runs its functions to EXERCISES"


def test_the_job_reaches_every_function(processes):
    first, second = processes
    assert first.keys() == second.keys()
    assert len(first) >= 3
    for name, function in first.items():
        assert function["signatures"], f"{name} was not called: add it to EXERCISES"
        assert function["misses"] == len(function["signatures"])
        assert function["hits"] == 0
    for name in ("pairwise.squared_distances", "pairwise.coordinate_sums"):
        types = " ".join(first[name]["signatures"])
        assert "float32" in types
        assert "float64" in types


def test_the_second_process_compiles_nothing(processes):
    first, second = processes
    for name, function in second.items():
        assert function["misses"] == 0, name
        assert function["hits"] == len(function["signatures"]) > 0, name
        assert sorted(function["signatures"]) == sorted(first[name]["signatures"])


def test_compiled_functions_follow_the_rules(processes):
    for name, function in processes[0].items():
        options = function["options"]
        assert options.get("nogil"), name
        assert not options.get("parallel"), name
        assert not options.get("fastmath"), name


def test_modules_load_on_first_use():
    for name in _fast._MODULES:
        assert getattr(_fast, name) is importlib.import_module(f"mercer._fast.{name}")
    with pytest.raises(AttributeError, match="no attribute 'slow'"):
        _fast.slow  # noqa: B018

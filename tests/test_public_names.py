"""Every public name comes from mercer itself, and comes when it is asked for."""

import ast
import importlib
import importlib.metadata
import inspect
import json
import os
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import mercer

STUB = Path(mercer.__file__).with_suffix(".pyi")
HEAVY = {
    "dask", "joblib", "matplotlib", "narwhals", "numba", "pandas", "polars", "pyarrow", "rich",
    "sklearn", "typer",
}  # fmt: skip


def in_fresh_process(code):
    """Return what ``code`` leaves in ``result``, in a process of its own."""
    code = f"import json, sys\n{code}\nprint(json.dumps(result))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", mercer.__all__)
def test_names_can_be_imported(name):
    value = getattr(mercer, name)
    assert value is getattr(mercer, name)
    assert inspect.getdoc(value)
    assert inspect.isclass(value) or inspect.isfunction(value)
    assert value.__name__ == name


def test_stub_and_runtime_agree():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    seen = set()
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        module = importlib.import_module(node.module)
        for alias in node.names:
            # ``as`` with the same name is how a stub says that a name is public.
            assert alias.asname == alias.name
            assert alias.name not in seen
            seen.add(alias.name)
            assert getattr(mercer, alias.name) is getattr(module, alias.name)
            assert getattr(mercer, alias.name).__module__ == node.module
    assert seen == set(mercer.__all__)
    declared = [node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)]
    assert declared == ["__version__"]


def test_star_import_and_dir():
    names = {}
    exec("from mercer import *", names)
    assert set(mercer.__all__) <= set(names)
    assert set(dir(mercer)) == {*mercer.__all__, "__version__"}
    assert mercer.__all__ == sorted(set(mercer.__all__))


def test_the_names_of_the_issue_are_there():
    names = {
        "Centring", "Definite", "Expansion", "FunctionKernel", "GaussianBasis", "Gram", "Kernel",
        "Laplacian", "Linear", "Matern", "Polynomial", "Precomputed", "RBF",
        "RandomFourierFeatures", "check_kernel", "repair",
    }  # fmt: skip
    assert names <= set(mercer.__all__)


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'Kernal'"):
        mercer.Kernal  # noqa: B018
    with pytest.raises(ImportError, match="Kernal"):
        exec("from mercer import Kernal")
    assert not hasattr(mercer, "__wrapped__")


def test_version():
    assert mercer.__version__ == importlib.metadata.version("mercer")


def test_it_is_typed():
    hints = typing.get_type_hints(mercer.Gram.rows)
    assert "return" in hints


@pytest.mark.parametrize(
    "code",
    [
        "import mercer",
        "from mercer import RBF; RBF(gamma=0.3) + 2 * RBF(gamma=0.1)",
        "from mercer import Gram, Expansion, Centring, load_data, check_kernel",
        "import mercer, numpy as np; k = mercer.RBF(gamma=0.3); repr(k); k.encode(np.eye(3))",
    ],
)
def test_heavy_libraries_are_not_imported(code):
    loaded = set(in_fresh_process(f"{code}\nresult = sorted(sys.modules)"))
    roots = {name.partition(".")[0] for name in loaded}
    assert not roots & HEAVY
    assert "mercer" in roots


def test_mercer_alone_imports_next_to_nothing():
    loaded = in_fresh_process("import mercer\nresult = sorted(sys.modules)")
    assert [name for name in loaded if name.startswith("mercer")] == ["mercer"]
    assert not {"numpy", "scipy"} & set(loaded)


def test_names_arrive_in_any_order():
    for name in ("check_kernel", "White", "repair", "Expansion", "Delta"):
        found = in_fresh_process(f"import mercer\nresult = mercer.{name}.__name__")
        assert found == name


@pytest.mark.slow
def test_users_get_the_types(tmp_path):
    script = tmp_path / "user.py"
    script.write_text("from mercer import RBF\nreveal_type(RBF(gamma=0.5))\nRBF(gammma=0.5)\n")
    # As an installed package: its types count only because py.typed lies beside them.
    run = subprocess.run(
        [sys.executable, "-m", "mypy", f"--cache-dir={tmp_path / 'cache'}", script.name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(STUB.parents[1])},
        capture_output=True,
        text=True,
    )
    assert 'Revealed type is "mercer.kernels.vectors.radial.RBF"' in run.stdout, run.stdout
    assert 'Unexpected keyword argument "gammma" for "RBF"' in run.stdout
    assert "Found 1 error" in run.stdout

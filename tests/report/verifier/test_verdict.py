"""The verifier stands on its own feet, and knows its formulas."""

import ast
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
import mercer.report.verifier
from mercer import (
    RBF,
    Constant,
    Delta,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Polynomial,
    RationalQuadratic,
    White,
)
from mercer.report.proof.document import Document, stored
from mercer.report.verifier.kernels import Sample, is_definite, kernel_block
from mercer.report.verifier.page import NoProof, read_array, read_number
from mercer.report.verifier.verdict import verify, verify_page
from mercer.report.view import verifier_script
from tests.report.proof import machines

FOLDER = Path(mercer.report.verifier.__file__).parent


def test_it_imports_nothing_but_numpy_and_itself():
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [str(node.module)]
            for name in names:
                first = name.partition(".")[0]
                own = name.startswith("mercer.report.verifier.")
                assert own or first == "numpy" or first in sys.stdlib_module_names, (path, name)


def test_the_two_verifiers_share_no_code():
    script = verifier_script()
    assert "import " not in script
    assert "lab" not in script.split()


KERNELS = [
    RBF(gamma=0.3), RBF(length_scale=[1.0, 2.0, 0.5]), Laplacian(0.4), Matern(nu=0.5, sigma=1.2),
    Matern(nu=1.5, sigma=2.0), Matern(nu=2.5, gamma=0.3), Matern(nu=float("inf"), length_scale=1.3),
    RationalQuadratic(alpha=0.7, gamma=0.2), Linear(), Polynomial(3, 0.5, 0.2), Constant(2.5),
    White(0.2),
    0.3 * RBF(gamma=0.3) * Linear() + Constant(1.0),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_of_vectors(kernel):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3)) + 100
    X[7] = X[3]
    X[8] = X[3] + 1e-9
    document = Document()
    document.add_gram(kernel, kernel.encode(X))
    (gram,) = document.grams
    samples = [Sample(read_array(s["values"])) for s in document.samples]
    found = kernel_block(gram["kernel"], samples, slice(0, 40), slice(None), 40)
    np.testing.assert_allclose(found, kernel(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", [Overlap(), Delta()], ids=str)
def test_kernels_of_categories(kernel):
    X = np.random.default_rng(0).choice(["a", "b", "c"], size=(30, 2)).astype(object)
    document = Document()
    document.add_gram(kernel, kernel.encode(X))
    samples = [Sample(read_array(s["values"])) for s in document.samples]
    found = kernel_block(document.grams[0]["kernel"], samples, slice(0, 30), slice(None), 30)
    np.testing.assert_allclose(found, kernel(X), atol=1e-15)


def test_a_matrix_has_to_be_definite():
    K = np.eye(5) + 0.5
    assert is_definite(K)
    assert is_definite(np.ones((5, 5)))
    K[0, 1] = K[1, 0] = 3.0
    assert not is_definite(K)


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("0", 0.0, 0.5), ("1,234.5", 1234.5, 0.05), ("−0.25", -0.25, 0.005),
        ("1.2 × 10⁻⁷", 1.2e-7, 0.5e-8), ("1.2e-07", 1.2e-7, 0.5e-8), ("0.5 %", 0.005, 0.0005),
        ("1,090,000", 1.09e6, 5.0), ("1,090", 1090.0, 0.5),
    ],
)  # fmt: skip
def test_printed_numbers(text, value, half):
    found, unit = read_number(text)
    assert found == pytest.approx(value, rel=1e-15)
    assert unit == pytest.approx(half)


@pytest.mark.parametrize("text", ["", "–", "∞", "nan", "1e999", "12 apples", "1.2.3"])
def test_what_is_no_number(text):
    with pytest.raises(NoProof):
        read_number(text)


def test_arrays_that_lie_about_their_size():
    good = stored(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(read_array(good), np.arange(6.0).reshape(2, 3))
    for wrong in (
        {**good, "shape": [2, 4]}, {**good, "shape": [10**9, 10**9]}, {**good, "data": "?"}, None,
        {**good, "data": good["data"][:-8]}, stored(np.array([np.nan])),
    ):  # fmt: skip
        with pytest.raises(NoProof):
            read_array(wrong)


def test_the_digest_is_that_of_rows_and_targets():
    _, X, y = machines.fitted("ridge")
    expected = hashlib.sha256(X.astype("<f8").tobytes() + y.astype("<f8").tobytes()).hexdigest()
    assert machines.proof("ridge").digest == expected


@pytest.mark.parametrize("proof", [None, [], {}, {"format": 1}, {"format": 1, "samples": 3}])
def test_nonsense_is_refused_in_words(proof):
    found = verify(proof)
    assert not found.holds
    assert found.faults


def test_kernels_that_are_not_definite_are_refused():
    proof = json.loads(machines.proof("ridge").text)
    for change in ({"rate": -1.0}, {"name": "sigmoid"}, {"sample": 7}, {"name": ["rbf"]}):
        wrong = {**proof, "grams": [{**proof["grams"][0]}]}
        wrong["grams"][0]["kernel"] = {**proof["grams"][0]["kernel"], **change}
        assert not verify(wrong).holds


def test_a_page_that_prints_too_little_is_refused():
    page = machines.page("ridge")
    hidden = page.replace('data-claim="dual"', "")
    assert "dual is not printed" in verify_page(hidden).faults
    assert not verify_page("<p>no report</p>").holds

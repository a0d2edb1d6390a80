"""Kernels as text: what is read, what is written, and where a text is wrong."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mercer import (
    RBF,
    BagOfWords,
    Constant,
    Cosine,
    Delta,
    FunctionKernel,
    GaussianBasis,
    InvalidExpression,
    InvalidParameter,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Polynomial,
    Precomputed,
    RandomFourierFeatures,
    format_kernel,
    parse_kernel,
)
from mercer.kernels.registry import ROWS
from tests.kernels.cases import COMPOSITES, KERNELS, RADIAL
from tests.oracles.strategies import (
    combined,
    composites,
    registry_examples,
    string_kernels,
    table_kernels,
)

READ = {
    "rbf": RBF(),
    "rbf()": RBF(),
    "RBF(gamma=0.1)": RBF(gamma=0.1),
    "gaussian(age)": RBF().on("age"),
    "rbf(age, bmi, gamma=0.1) + 0.5 * words(note).normalized()": (
        RBF(gamma=0.1).on("age", "bmi") + 0.5 * BagOfWords().on("note").normalized()
    ),
    "rbf(gamma=0.1, age, bmi)": RBF(gamma=0.1).on("age", "bmi"),
    "delta(\"chest pain\", 'it\\'s')": Delta().on("chest pain", "it's"),
    "linear(0, -1, 12)": Linear().on(0, -1, 12),
    "poly(degree=3, coef0=2)": Polynomial(3, coef0=2),
    "matern(nu=inf, length_scale=[1, 2.5, 3e-1])": Matern(nu=math.inf, length_scale=[1, 2.5, 0.3]),
    "rbf(gamma=median)": RBF("median"),
    "rbf(gamma='median')": RBF("median"),
    "rbf(gamma=none, sigma=2)": RBF(sigma=2),
    'words(lowercase=false, pattern="[a-z]\\\\w")': BagOfWords(pattern=r"[a-z]\w", lowercase=False),
    "a_b": None,
    "linear + rbf * cosine": Linear() + RBF() * Cosine(),
    "(linear + rbf) * cosine": (Linear() + RBF()) * Cosine(),
    "2 * 3 * rbf": 6.0 * RBF(),
    "2 * (3 * rbf)": 2 * (3 * RBF()),
    "rbf * 2": 2 * RBF(),
    "rbf + 1": RBF() + 1,
    "1 + rbf": 1 + RBF(),
    "1.5 + 2 * linear ** 2": 1.5 + 2 * Linear() ** 2,
    "linear ** 0.5": Linear() ** 0.5,
    "(linear ** 2) ** 3": (Linear() ** 2) ** 3,
    "2 ** 3 * linear": 8 * Linear(),
    "exp(linear)": Linear().exp(),
    "linear.exp().normalized()": Linear().exp().normalized(),
    "normalized(exp(linear))": Linear().exp().normalized(),
    "(linear + rbf).on(a, 1)": (Linear() + RBF()).on("a", 1),
    "cosine.power_series([1, 0, 2])": Cosine().power_series([1, 0, 2]),
    "cosine.power_series([1, 0, 2], radius=0.5)": Cosine().power_series([1, 0, 2], 0.5),
    "random_fourier(kernel=rbf(gamma=0.3), components=40)": RandomFourierFeatures(
        RBF(gamma=0.3), 40
    ),
    "gaussian_basis(centres=[[0, 1], [2, -3]])": GaussianBasis([[0, 1], [2, -3]]),
    " rbf (\n\tage ,\r\n bmi ) ": RBF().on("age", "bmi"),
    "overlap(größe, 城市)": Overlap().on("größe", "城市"),
    "linear(rbf, exp, true)": Linear().on("rbf", "exp", "true"),
}
del READ["a_b"]


@pytest.mark.parametrize("text", READ)
def test_reading(text):
    assert parse_kernel(text) == READ[text]
    assert parse_kernel(format_kernel(READ[text])) == READ[text]


def test_every_name_of_the_registry_is_read():
    for row in ROWS:
        given = {
            "gaussian_basis": "(centres=[[1]])",
            "random_fourier": "(kernel=rbf)",
            "substrings": '(words=["ab"])',
        }
        for name in (row.name, *row.aliases, row.kernel.__name__):
            assert type(parse_kernel(name + given.get(row.name, ""))) is row.kernel


WRONG = {
    "": (0, "empty"),
    "   ": (3, "empty"),
    "rbg(age)": (0, "no kernel 'rbg'; did you mean 'rbf'?"),
    "linear + spctrum(x)": (9, "no kernel 'spctrum'"),
    "rbf(age": (7, "Expected ',' or ')' after an argument, found the end"),
    "rbf(age,,bmi)": (8, "Expected a column"),
    "rbf(age bmi)": (8, "Expected ','"),
    "rbf)": (3, "Expected '+', '*' or the end, found ')'"),
    "(rbf": (4, "Expected ')' to close the bracket"),
    "rbf rbf": (4, "Expected '+', '*' or the end"),
    "rbf +": (5, "Expected a kernel, a number or '(', found the end"),
    "* rbf": (0, "Expected a kernel"),
    "rbf - linear": (4, "A difference of kernels is not a kernel"),
    "rbf(0.5)": (4, "a parameter needs its name such as gamma=0.5"),
    "rbf(gama=3)": (4, "rbf has no parameter 'gama'; did you mean 'gamma'?"),
    "linear(c=3)": (7, "linear has no parameter 'c'; it has none"),
    "rbf(gamma=1, gamma=2)": (13, "gamma is given twice"),
    "linear + rbf(gamma=-1)": (9, "RBF: gamma=-1 has to be a number > 0"),
    "rbf(gamma=)": (10, "Expected a value"),
    "rbf(gamma=1, sigma=2)": (0, "names of one width"),
    "rbf(a, a)": (0, "names a column twice"),
    "rbf(linear(x))": (4, "takes columns and parameters, not kernels"),
    "gaussian_basis(x)": (0, "needs centres=…"),
    "3": (0, "Expected a kernel, found the number 3"),
    "2 * 3": (0, "Expected a kernel, found the number 6"),
    "rbf ** -1": (4, "exponent=-1 has to be a number ≥ 0"),
    "rbf ** linear": (7, "Expected a number after '**'"),
    "rbf ** 2 ** 3": (9, "Two powers in a row"),
    "-2 * rbf": (3, "factor=-2"),
    "- rbf": (2, "Expected a number"),
    "rbf.foo()": (4, "'foo' cannot follow a '.'"),
    "rbf.normalised()": (4, "did you mean 'normalized'?"),
    "rbf.normalized": (14, "Expected '(' after .normalized"),
    "rbf.normalized(2)": (15, "Expected ')' after .normalized("),
    "3 .exp()": (0, "found the number 3"),
    "rbf('a": (4, "no closing quote"),
    "rbf $ 2": (4, "'$' has no meaning here"),
    "rbf(x; y)": (5, "';' has no meaning"),
    "__import__('os')": (0, "There is no kernel '__import__'"),
    "rbf(gamma=(lambda: 1))": (17, "':' has no meaning here"),
    "rbf(gamma=(open))": (11, "There is no kernel 'open'"),
    "rbf(gamma=1e999)": (10, "too large a number"),
    "rbf(gamma=inf)": (0, "gamma=inf"),
    "words(pattern='(')": (0, "not a regular expression"),
    "rbf.on()": (7, "Expected a column"),
    "rbf(gamma=[1, 2)": (15, "Expected ',' or ']' in a list"),
    "exp(2)": (0, "found the number 2"),
    "(-8) ** 0.5 * rbf": (5, "math domain error"),
    "999999999999999 ** 999999999999999": (16, "math range error"),
}


@pytest.mark.parametrize("text", WRONG)
def test_errors_point_at_the_character(text):
    position, message = WRONG[text]
    with pytest.raises(InvalidExpression) as caught:
        parse_kernel(text)
    lines = str(caught.value).split("\n")
    assert message in lines[0]
    assert lines[0].endswith(f"(character {position + 1}).")
    assert caught.value.position == position
    assert len(lines) == 3
    assert lines[2] == " " * (position + 2) + "^"


def test_errors_in_long_expressions_show_the_part_around():
    text = "rbf(a) + " * 60 + "rbg(b)"
    with pytest.raises(InvalidExpression) as caught:
        parse_kernel(text)
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) < 90
    assert shown[caret.index("^") :] == "rbg(b)"


def test_limits():
    for text, message in [
        ("rbf+" * 3000, "12,000 characters; at most 10,000 are read"),
        ("(" * 45 + "rbf" + ")" * 45, "nested more than 40 deep"),
        ("exp(" * 45, "nested more than 40 deep"),
        ("rbf(gamma=" + "[" * 100, "nested more than 40 deep"),
        (" + ".join(["rbf"] * 150), "more than 200 parts"),
        ("rbf" + ".exp()" * 300, "more than 200 parts"),
    ]:
        with pytest.raises(InvalidExpression, match=message):
            parse_kernel(text)
    deep = parse_kernel("(" * 30 + "rbf" + ")" * 30 + " + linear" * 90)
    assert parse_kernel(format_kernel(deep)) == deep
    with pytest.raises(InvalidParameter, match="expected a text, got RBF"):
        parse_kernel(RBF())


# ---- writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS + RADIAL + COMPOSITES, ids=repr)
def test_every_kernel_comes_back(kernel):
    assert parse_kernel(format_kernel(kernel)) == kernel
    nested = (2.5 * kernel + kernel) ** 2 * kernel.normalized().on("a b", 3, "c")
    assert parse_kernel(format_kernel(nested)) == nested


@settings(max_examples=200)
@given(
    st.one_of(
        composites(3),
        table_kernels(),
        combined(st.one_of(registry_examples(), string_kernels()), registry_examples()),
    )
)
def test_any_composite_comes_back(kernel):
    assert parse_kernel(format_kernel(kernel)) == kernel


@given(st.lists(st.one_of(st.text(), st.integers(-99, 99)), min_size=1, max_size=4, unique=True))
def test_any_column_comes_back(columns):
    kernel = RBF(gamma=0.1).on(*columns) + Linear().exp().on(*columns)
    assert parse_kernel(format_kernel(kernel)) == kernel


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_any_number_comes_back(number):
    kernel = number * RBF(gamma=number) + Laplacian(length_scale=[number, 1]) ** number
    assert parse_kernel(format_kernel(kernel)) == kernel


def test_texts_are_short():
    assert format_kernel(2 * RBF(gamma=0.1).on("age") + Delta().on("sex", "chest pain")) == (
        '2 * rbf(age, gamma=0.1) + delta(sex, "chest pain")'
    )
    assert format_kernel((Linear() + 1).exp().normalized()) == (
        "exp(linear() + constant()).normalized()"
    )
    assert format_kernel(RBF(gamma=np.float64(0.5))) == "rbf(gamma=0.5)"
    assert format_kernel(RBF(length_scale=np.array([1.0, 0.25]))) == "rbf(length_scale=[1, 0.25])"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (FunctionKernel(lambda x, z: 1.0), "FunctionKernel is not in the registry"),
        (Precomputed(np.eye(2)) + RBF(), "Precomputed is not in the registry"),
        (RBF().on(2.5), "A column named 2.5 cannot be written"),
        (RBF().on(("a", "b"), "c"), "cannot be written"),
    ],
)
def test_what_cannot_be_written_says_so(kernel, message):
    with pytest.raises(InvalidParameter, match=message):
        format_kernel(kernel)


# ---- hostile texts -------------------------------------------------------------------------------

PIECES = [
    "rbf", "linear", "words", "exp", "normalized", "on", "(", ")", "[", "]", ",", ".", "+", "-",
    "*", "**", "=", "gamma", "0.5", "2", "1e308", "9" * 20, '"', "'", "\\", "none", "inf", "age",
    " ", "\n", "é", "\0", "constant", "power_series", "kernel",
]  # fmt: skip


@settings(max_examples=500)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
def test_any_text_gives_a_kernel_or_our_error(text):
    start = time.process_time()
    try:
        kernel = parse_kernel(text)
    except InvalidExpression as error:
        position = error.position
    else:
        assert parse_kernel(format_kernel(kernel)) == kernel
        position = 0
    assert 0 <= position <= len(text)
    assert time.process_time() - start < 1


def test_large_hostile_texts_are_quick():
    for text in ["9**" * 3333, '"' * 9999, "\\" * 9999, "((" * 4999, "a." * 4999, " " * 9999,
                 "rbf(" * 2499, "rbf(a=" * 1666, "[" * 9999, "1*" * 4999, "rbf(" + "a," * 4990,
                 "'" + "\\'" * 4990, "1+" * 4999 + "rbf", "e" * 9999]:  # fmt: skip
        start = time.process_time()
        with pytest.raises(InvalidExpression):
            parse_kernel(text)
        assert time.process_time() - start < 1


def test_reading_runs_nothing(tmp_path):
    marker = tmp_path / "ran"
    text = f"rbf(gamma=__import__('pathlib').Path({str(marker)!r}).touch())"
    with pytest.raises(InvalidExpression):
        parse_kernel(text)
    assert not marker.exists()
    assert parse_kernel("constant(value=2)") == Constant(2)

"""Kernels of a chosen list of substrings."""

import re
from itertools import product

import numpy as np
import pytest

from mercer import SVC, Spectrum, Subsequence, Substrings, format_kernel, load, parse_kernel, save
from mercer.exceptions import InvalidParameter

LISTED = ["ca", "ct", "cr", "ar", "rt", "ba", "br"]


@pytest.mark.parametrize("decay", [0.3, 0.5, 1.0])
def test_the_table_of_the_lectures(decay):
    phi = Substrings(LISTED, decay).features(["cat", "cart", "bar"]).toarray()
    np.testing.assert_allclose(
        phi,
        [
            [1, decay, 0, 0, 0, 0, 0],
            [1, decay**2, decay, 1, 1, 0, 0],
            [0, 0, 0, 1, 0, 1, decay],
        ],
    )
    K = Substrings(LISTED, decay)(["cat", "cart", "bar"])
    np.testing.assert_allclose([K[0, 1], K[0, 2], K[1, 2]], [1 + decay**3, 0, 1])


def test_without_gaps_it_counts_as_regular_expressions_do():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abc"), 40)) for _ in range(20)]
    words = ["aba", "c", "bb"]
    # A lookahead finds occurrences that overlap.
    expected = [[len(re.findall(f"(?={word})", text)) for word in words] for text in texts]
    np.testing.assert_array_equal(Substrings(words).features(texts).toarray(), expected)
    binary = Substrings(words, weighting="binary").features(texts).toarray()
    np.testing.assert_array_equal(binary, np.greater(expected, 0))


def test_all_words_of_an_alphabet_give_the_kernels_of_all_words():
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("ab"), n)) for n in (0, 1, 5, 12, 30)]
    words = ["".join(letters) for letters in product("ab", repeat=3)]
    np.testing.assert_allclose(Substrings(words)(texts), Spectrum(3)(texts))
    np.testing.assert_allclose(Substrings(words, 0.7)(texts), Subsequence(3, 0.7)(texts))


def test_it_is_written_read_and_stored(tmp_path):
    kernel = Substrings(LISTED, 0.5)
    assert parse_kernel(format_kernel(kernel)) == kernel
    machine = SVC(kernel).fit(["cat", "cart", "bar", "bra"], [0, 0, 1, 1])
    save(machine, tmp_path / "model.mercer")
    assert load(tmp_path / "model.mercer").predict(["ca", "ba"]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ca",), "has to be a list of strings"),
        (([],), "has to be a list of strings"),
        ((["a", ""],), "has to be a list of strings"),
        ((["a", 3],), "has to be a list of strings"),
        ((["a", "a"],), "names a string twice"),
        ((["a"], 1.5), "decay=1.5"),
        ((["a"], 0.5, "frequency"), "'count' or 'binary'"),
    ],
)
def test_impossible_parameters(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        Substrings(*arguments)

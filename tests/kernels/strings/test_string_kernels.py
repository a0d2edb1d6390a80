"""Spectrum, mismatch, gappy and subsequence kernels: oracles, laws, real sequences."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from mercer import (
    SVC,
    BagOfWords,
    Definite,
    GappyKmer,
    Gram,
    InvalidParameter,
    Mismatch,
    NoFeatureMap,
    NotEnoughMemory,
    NumericalOverflow,
    Spectrum,
    Subsequence,
    check_kernel,
    format_kernel,
    parse_kernel,
)
from mercer.kernels.strings import kmers as string_kmers, subsequences as string_subsequences
from mercer.kernels.strings.words import WEIGHTINGS
from tests.kernels.cases import close
from tests.oracles.naive import naive_gram

ALL = ["".join(letters) for n in range(7) for letters in itertools.product("ab", repeat=n)]
MAPPED = [
    *(Spectrum(k) for k in (1, 2, 3, 6, 7)),
    Spectrum(2, "frequency"),
    Spectrum(2, "binary"),
    *(Mismatch(k, m, "ab") for k, m in ((1, 1), (2, 0), (3, 1), (4, 2))),
    Mismatch(3, 1, "abc", "frequency"),
    Mismatch(3, 2, "bx", "binary"),
    *(GappyKmer(k, g) for k, g in ((1, 0), (1, 2), (2, 1), (3, 3), (5, 2))),
    GappyKmer(2, 2, "frequency"),
    GappyKmer(2, 1, "binary"),
]
PLACED = [
    Subsequence(1, 0.3),
    Subsequence(2, 0.5),
    Subsequence(3, 0.7),
    Subsequence(3, 0.7, "length"),
    Subsequence(4, 1.0, "length", "all"),
    Subsequence(6, 0.25, lengths=(1, 0, 0.5, 2, 0, 3)),
    Subsequence(2, 0.0),
    Subsequence(7, 0.9),
]
WORDS = [BagOfWords(pattern="a+|b"), BagOfWords("frequency", pattern="b|ab?")]
KERNELS = [*MAPPED, *PLACED, *WORDS]

strings = st.text(alphabet="abcN", max_size=9)
batches = st.lists(strings, min_size=1, max_size=6)
kernels = st.one_of(
    st.builds(Spectrum, st.integers(1, 4), st.sampled_from(WEIGHTINGS)),
    st.builds(
        Mismatch, st.integers(2, 4), st.integers(0, 2), st.sampled_from(["ab", "abc", "bxy"])
    ),
    st.builds(GappyKmer, st.integers(1, 3), st.integers(0, 3)),
    st.builds(
        Subsequence,
        st.integers(1, 4),
        st.floats(0.05, 1.0),
        st.sampled_from(["gaps", "length"]),
        st.sampled_from([None, "all"]),
    ),
)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_all_short_strings_of_two_letters(kernel):
    K = kernel(ALL)
    # The oracle takes a while: every third string with all.
    close(K[::3], naive_gram(kernel, ALL[::3], ALL))
    assert (K == K.T).all()
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * len(K) * max(1.0, K.max())
    assert kernel.definite is Definite.POSITIVE
    close(kernel.diag(ALL), np.diag(K))
    close(kernel(ALL[::3], ALL[5:40]), K[::3, 5:40])


@pytest.mark.parametrize("kernel", MAPPED, ids=repr)
def test_features_of_all_short_strings(kernel):
    phi = kernel.features(ALL)
    close(phi @ phi.T, kernel(ALL))
    some, others = kernel.features(ALL[40:50]), kernel.features(ALL[::-1])
    close(some @ others.T, kernel(ALL[40:50], ALL[::-1]))
    assert phi.values.has_canonical_format
    assert (np.diff(phi.keys.astype(object)) > 0).all() or len(phi.keys) == 1
    norms = np.sqrt(kernel.diag(ALL))
    norms[norms == 0] = np.inf
    close(kernel.normalized()(ALL), kernel(ALL) / np.outer(norms, norms))


@pytest.fixture
def pair_by_pair(monkeypatch):
    """Keep subsequences from being written out, which pays wherever letters are few."""
    monkeypatch.setattr(string_subsequences, "_SPELLED_BITS", -1)


@pytest.mark.parametrize("kernel", PLACED, ids=repr)
def test_subsequences_pair_by_pair(kernel, pair_by_pair):
    test_all_short_strings_of_two_letters(kernel)


def test_few_letters_are_spelled_out(monkeypatch):
    random = np.random.default_rng(5)
    dna = ["".join(random.choice(list("ACGT"), 60)) for _ in range(70)]
    words = ["".join(random.choice([chr(97 + i) for i in range(20)], 30)) for _ in range(8)]
    for X, k, spelled in ((dna, 3, True), (dna, 10, False), (words, 4, False), (words, 1, True)):
        kernel = Subsequence(k, 0.7, lengths=[*range(k - 1), 2])
        leaf = kernel.encode(X)[kernel.encoder]
        form = string_subsequences.Counted if spelled else string_subsequences.LetterStrings
        assert type(kernel.prepare(leaf, leaf)[0]) is form
        K, cross, own = kernel(X), kernel(X[:5], X[5:]), kernel.diag(X)
        with monkeypatch.context() as change:
            change.setattr(string_subsequences, "_SPELLED_BITS", -1)
            close(K, kernel(X))
            close(cross, kernel(X[:5], X[5:]))
            close(own, kernel.diag(X))


def test_the_table_of_cat_cart_and_bar():
    words, decay = ["cat", "cart", "bar"], 0.6
    K = Subsequence(2, decay)(words)
    # The pair `at` counts too: cat has it without a gap, cart with one.
    close(K[0, 1], 1 + decay + decay**3)
    close(K[0, 2], 0)
    close(K[1, 2], 1)
    close(np.diag(K), [2 + decay**2, 3 + 2 * decay**2 + decay**4, 2 + decay**2])
    close(Subsequence(2, decay, "length")(words), decay**4 * K)


@given(kernels, batches, batches)
def test_any_strings_equal_the_oracle(kernel, X, Y):
    close(kernel(X, Y), naive_gram(kernel, X, Y))
    close(kernel(X), naive_gram(kernel, X))
    close(kernel.normalized()(X, Y), naive_gram(kernel.normalized(), X, Y))
    if kernel.has_features:
        close(kernel.features(X) @ kernel.features(Y).T, kernel(X, Y))


@given(kernels, batches)
def test_reading_backwards_changes_nothing(kernel, X):
    close(kernel([x[::-1] for x in X]), kernel(X))


@given(kernels, st.lists(strings, min_size=2, max_size=6))
def test_positive_and_honest(kernel, X):
    report = check_kernel(kernel, X)
    assert report.is_symmetric
    assert report.is_positive
    assert report.obeys_cauchy_schwarz


@given(st.integers(1, 4), strings, strings, strings)
def test_concatenation(k, x, y, z):
    """Windows of xy are those of x, of y, and those across the border."""
    spectrum = Spectrum(k)
    across = (x[len(x) - k + 1 :] if k > 1 and len(x) >= k - 1 else x if k > 1 else "") + y[: k - 1]
    parts = [x, y, across] if k > 1 else [x, y]
    if len(x) >= k - 1 and len(y) >= k - 1:
        close(spectrum([x + y], [z]), spectrum(parts, [z]).sum(axis=0, keepdims=True))
    # A letter that occurs nowhere else separates; subsequences only grow.
    close(spectrum([x + "·" * k + y], [z]), spectrum([x, y], [z]).sum(axis=0, keepdims=True))
    subsequence = Subsequence(k, 0.7)
    assert subsequence([x + y], [z])[0, 0] >= subsequence([x, y], [z]).sum() - 1e-12


@given(batches, st.integers(1, 4))
def test_kernels_that_meet(X, k):
    close(Mismatch(k, 0, "ab")(X), Spectrum(k)(X))
    close(GappyKmer(k, 0)(X), Spectrum(k)(X))
    close(Subsequence(k, 0.0)(X), Spectrum(k)(X))
    single = [Subsequence(length, 0.6)(X) for length in range(1, k + 1)]
    close(Subsequence(k, 0.6, lengths="all")(X), sum(single))
    weights = list(range(1, k + 1))
    both = sum(w * K for w, K in zip(weights, single, strict=True))
    close(Subsequence(k, 0.6, lengths=weights)(X), both)
    # m = k: every pattern of the alphabet is near to every window.
    X = [x.replace("N", "a") for x in X]
    windows = np.array([max(0, len(x) - k + 1) for x in X], dtype=float)
    close(Mismatch(k, k, "abc")(X), 3**k * np.outer(windows, windows))


def test_spectrum_against_scikit_learn():
    random = np.random.default_rng(0)
    X = ["".join(random.choice(list("ACGTN"), random.integers(0, 300))) for _ in range(150)]
    for k in (1, 3, 6, 20):
        counts = CountVectorizer(analyzer="char", ngram_range=(k, k), lowercase=False)
        phi = counts.fit_transform(X).astype(float)
        close(Spectrum(k)(X), (phi @ phi.T).toarray())


@pytest.mark.parametrize("kernel", [Spectrum(5), Mismatch(4, 1), GappyKmer(4, 2)], ids=repr)
def test_chunks_change_nothing(kernel, monkeypatch):
    random = np.random.default_rng(1)
    X = ["".join(random.choice(list("ACGT"), n)) for n in random.integers(0, 80, size=60)]
    whole, K = kernel.features(X), kernel(X)
    monkeypatch.setattr(string_kmers, "_CHUNK", 100)
    parts = kernel.features(X)
    assert (parts.keys == whole.keys).all()
    for name in ("data", "indices", "indptr"):
        assert (getattr(parts.values, name) == getattr(whole.values, name)).all()
    monkeypatch.setattr(string_kmers, "_DENSE_SHARE", 2.0)  # sparse products
    close(kernel(X), K)
    close(kernel(X[:7], X), K[:7])
    close(naive_gram(kernel, X[:4]), K[:4, :4])


def test_many_letters_and_lengths():
    random = np.random.default_rng(2)
    letters = [chr(0x4E00 + i) for i in range(300)] + ["\ud800", "😀"]
    X = ["".join(random.choice(letters, n)) for n in (0, 1, 2, 3, 5, 30, 31, 40, 8, 60)] + [
        "ab"
    ] * 9
    X[6] = X[5] + "a"
    for kernel in (Subsequence(2, 0.8, lengths="all"), Spectrum(2), GappyKmer(2, 2)):
        close(kernel(X), naive_gram(kernel, X))
    few = [x.translate({ord(c): "abc"[i % 3] for i, c in enumerate(letters)}) for x in X]
    close(Subsequence(3, 0.8)(few), naive_gram(Subsequence(3, 0.8), few))


def test_short_and_empty_strings():
    for kernel in (Spectrum(4), Mismatch(4, 1), GappyKmer(3, 1), Subsequence(4)):
        assert not kernel(["", "AC", "ACG"]).any()
        close(kernel.normalized()(["", "ACGT"]), [[0, 0], [0, 1]])
    assert Spectrum(4).features(["", "AC"]).shape == (2, 1)


def test_case_and_unknown_letters_count():
    assert Spectrum(2)(["AC"], ["ac"]) == 0
    # N is another letter: it costs a mismatch wherever a letter of the alphabet stands.
    assert Mismatch(3, 0)(["ANT"], ["AAT"]) == 0
    assert Mismatch(3, 1)(["ANT"], ["AAT"]) == 4
    assert Mismatch(3, 1)(["NNT"], ["AAT"]) == 0


def test_keys_do_not_depend_on_the_batch_or_the_process():
    keys = {repr(k): k.features(["GATTACA"]).keys.tolist() for k in (Spectrum(3), GappyKmer(2, 1))}
    assert set(keys["Spectrum()"]) <= set(Spectrum(3).features(["AAA", "GATTACAT"]).keys.tolist())
    code = (
        "from mercer import *; print({repr(k): k.features(['GATTACA']).keys.tolist() "
        "for k in (Spectrum(3), GappyKmer(2, 1))})"
    )
    code = code.replace("import *", "import Spectrum, GappyKmer")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == repr(keys)


def test_long_strings():
    random = np.random.default_rng(3)
    x = "".join(random.choice(list("ACGT"), 20_000))
    assert Spectrum(12)([x])[0, 0] >= len(x) - 11
    K = Subsequence(4, 0.9)([x[:1500], x[100:1600], x[:40]])
    assert np.isfinite(K).all()
    assert (np.diag(K)[:, None] * np.diag(K) >= K**2).all()
    with pytest.raises(NumericalOverflow, match="normalise"):
        Subsequence(275, 1.0)(["a" * 550])


def test_long_strings_pair_by_pair(pair_by_pair):
    test_long_strings()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spectrum(0), "k=0 has to be a whole number ≥ 1"),
        (lambda: Spectrum(2.5), "k=2.5"),
        (lambda: Spectrum(3, "tfidf"), "'tfidf' has to be 'count', 'frequency' or 'binary'"),
        (lambda: Mismatch(3, 4), "m=4 has to be a whole number ≥ 0 and ≤ 3"),
        (lambda: Mismatch(3, 1, ""), "string of different letters"),
        (lambda: Mismatch(3, 1, "AA"), "string of different letters"),
        (lambda: Mismatch(3, 1, 4), "string of different letters"),
        (lambda: Mismatch(20, 10), "m=10 makes more than 1,048,576 patterns"),
        (lambda: GappyKmer(15, 15), "g=15 makes more than"),
        (lambda: GappyKmer(1, 9000), "g=9000 makes more than"),
        (lambda: GappyKmer(3, -1), "g=-1"),
        (lambda: Subsequence(0), "k=0"),
        (lambda: Subsequence(2, 1.5), "decay=1.5 has to be a number ≥ 0 and ≤ 1"),
        (lambda: Subsequence(2, 0.0, "length"), "decay=0.0 has to be a number > 0"),
        (lambda: Subsequence(2, 0.5, "span"), "'span' has to be 'gaps' or 'length'"),
        (lambda: Subsequence(2, 0.5, lengths=[1]), "2 numbers ≥ 0"),
        (lambda: Subsequence(2, 0.5, lengths=[1, -1]), "2 numbers ≥ 0"),
        (lambda: Subsequence(2, 0.5, lengths="some"), "None, 'all'"),
    ],
)
def test_impossible_parameters(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_too_many_patterns_for_the_memory():
    with pytest.raises(NotEnoughMemory, match="fewer mismatches"):
        Mismatch(9, 4, "ACDEFGHI")(["ACDEFGHI" * 4000] * 10)


def test_subsequences_have_no_features():
    assert not Subsequence().has_features
    with pytest.raises(NoFeatureMap):
        Subsequence().features(["a"])


def test_expressions():
    for kernel in (Spectrum(4).on("dna"), Mismatch(5, 2, "ab c"), Subsequence(3, 0.4, "length")):
        assert parse_kernel(format_kernel(kernel)) == kernel
    assert parse_kernel("spectrum(dna, k=4).normalized()") == Spectrum(4).on("dna").normalized()


@pytest.mark.parametrize("seed", range(3))
def test_machines_find_a_motif(seed):
    random = np.random.default_rng(seed)
    X = ["".join(random.choice(list("ACGT"), 40)) for _ in range(80)]
    y = np.arange(80) % 2
    X = [x[:10] + "GATTACAT" + x[18:] if label else x for x, label in zip(X, y, strict=True)]
    for kernel in (Spectrum(4), Mismatch(5, 1), GappyKmer(4, 1)):
        machine = SVC(kernel=kernel.normalized(), C=10.0, tol=1e-6).fit(X[:60], y[:60])
        assert machine.certificate_.relative_gap < 1e-5
        assert machine.score(X[60:], y[60:]) >= 0.75
    close(Gram(Spectrum(3), X).rows([3, 1]), Spectrum(3)(X)[[3, 1]])

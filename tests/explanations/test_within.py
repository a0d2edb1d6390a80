"""Shares of letters and nodes, against counts by hand and the decision itself."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mercer as m
from mercer._plot.places import graph_layout
from mercer.exceptions import InvalidParameter, NoExplanation

random = np.random.default_rng(0)
WORDS = ["".join(word) for word in random.choice(list("ACGT"), size=(40, 12))]
TWO = np.array([word.count("AC") + word.count("GA") > 1 for word in WORDS]).astype(int)
THREE = np.arange(40) % 3
TEXTS = ["good film, good cast", "a bad film", "bad, bad plot", "Good plot; fine cast"] * 3
KERNELS = [
    m.Spectrum(3),
    m.Spectrum(2).normalized(),
    m.Spectrum(3, weighting="frequency"),
    m.Spectrum(2, weighting="binary"),
    m.Mismatch(3, 1, alphabet="ACGT"),
    m.GappyKmer(4, 1),
    m.Spectrum(2) + 0.5 * m.Spectrum(3).normalized(),
]


def rings(count):
    """Return graphs with labels: rings with a tail of random labels."""
    found = []
    for i in range(count):
        size = 4 + i % 4
        edges = [(j, (j + 1) % size) for j in range(size)] + [(0, size)]
        found.append(m.Graph(edges, labels=list(random.choice(list("CNO"), size=size + 1))))
    return found


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_letters_add_up_to_the_decision(kernel):
    machine = m.SVC(kernel=kernel).fit(WORDS, TWO)
    new = ["GATTACAGA", "ACACACAC", *WORDS[:3]]
    found = m.explain_within(machine, new)
    assert [len(why.values) for why in found] == [len(word) for word in new]
    np.testing.assert_allclose(
        [why.answer for why in found], machine.decision_function(new), atol=1e-10
    )


def test_letters_by_hand():
    machine = m.SVC(kernel=m.Spectrum(2)).fit(WORDS, TWO)
    expansion, _ = machine.function_expansion()
    word = "GATTAC"
    [why] = m.explain_within(machine, [word])
    support = [WORDS[i] for i in machine.support_]
    expected = np.zeros(len(word))
    for p in range(len(word) - 1):
        pair = word[p : p + 2]
        occurrences = [sum(s[q : q + 2] == pair for q in range(len(s) - 1)) for s in support]
        worth = float(np.dot(expansion.coefficients.ravel(), occurrences))
        expected[p : p + 2] += worth / 2
    np.testing.assert_allclose(why.values, expected, atol=1e-12)


def test_words_of_texts():
    y = np.array([1, 0, 0, 1] * 3)
    machine = m.SVC(kernel=m.BagOfWords().normalized()).fit(TEXTS, y)
    [why] = m.explain_within(machine, ["a Good but bad film"])
    assert why.values[2:6].sum() > 0 > why.values[11:14].sum()
    assert not why.values[[1, 6, 10]].any()  # blanks
    np.testing.assert_allclose(why.answer, machine.decision_function(["a Good but bad film"])[0])


def test_nodes_of_graphs():
    graphs = rings(24)
    y = np.array([list(graph.labels).count("N") > 1 for graph in graphs]).astype(int)
    machine = m.SVC(kernel=m.WeisfeilerLehman(2).normalized()).fit(graphs, y)
    found = m.explain_within(machine, graphs[:5])
    assert [len(why.values) for why in found] == [len(graph.labels) for graph in graphs[:5]]
    np.testing.assert_allclose(
        [why.answer for why in found], machine.decision_function(graphs[:5]), atol=1e-10
    )
    # Without rounds a node is its label, and alike ones have alike shares.
    plain = m.SVC(kernel=m.WeisfeilerLehman(0)).fit(graphs, y)
    [why] = m.explain_within(plain, [m.Graph([(0, 1), (1, 2)], labels=["C", "N", "C"])])
    assert why.values[0] == pytest.approx(why.values[2])


def test_several_classes():
    machine = m.KernelRidgeClassifier(1.0, kernel=m.Spectrum(2)).fit(WORDS, THREE)
    [why] = m.explain_within(machine, WORDS[:1])
    np.testing.assert_allclose(why.answer, machine.decision_function(WORDS[:1])[0], atol=1e-10)
    assert why.of_class(2).values.shape == (12,)
    with pytest.raises(InvalidParameter, match="not one of"):
        why.of_class(7)


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.table], ids=["pandas", "pyarrow"])
def test_the_string_of_a_table_is_drawn(kind):
    frame = kind({"dna": WORDS})
    machine = m.SVC(kernel=m.Spectrum(2).on("dna")).fit(frame, TWO)
    why = m.explain_within(machine, frame[:2])
    assert [within.item for within in why] == WORDS[:2]
    assert len(why[0].plot().texts) == 12
    np.testing.assert_allclose(
        [within.answer for within in why], machine.decision_function(frame[:2]), atol=1e-10
    )


def test_short_and_empty_strings():
    machine = m.SVC(kernel=m.Spectrum(3)).fit(WORDS, TWO)
    short, empty = m.explain_within(machine, ["AC", ""])
    assert not short.values.any()
    assert empty.values.shape == (0,)


def test_pictures():
    pytest.importorskip("matplotlib")
    machine = m.SVC(kernel=m.Spectrum(3)).fit(WORDS, TWO)
    [why] = m.explain_within(machine, [WORDS[0] * 5])
    axes = why.plot()
    assert [text.get_text() for text in axes.texts] == list(WORDS[0] * 5)
    graphs = rings(12)
    machine = m.SVC(kernel=m.WeisfeilerLehman(1)).fit(graphs, np.arange(12) % 3)
    [why] = m.explain_within(machine, graphs[:1])
    drawn = why.plot()
    assert [text.get_text() for text in drawn.texts] == list(graphs[0].labels)
    best = why.of_class(why.classes[int(np.argmax(why.answer))])
    colours = [line.get_color() for line in drawn.lines if line.get_alpha() is not None]
    assert colours == ["#d55e00" if share >= 0 else "#0072b2" for share in best.values]
    # In grey, too: what moves the answer down has a rim.
    rims = [line.get_xydata()[0] for line in drawn.lines if line.get_markersize() == 18]
    discs = np.array([line.get_xydata()[0] for line in drawn.lines if line.get_color() == "white"])
    np.testing.assert_array_equal(np.reshape(rims, (-1, 2)), discs[best.values < 0])
    edges = [line for line in drawn.lines if line.get_marker() == "None"]
    assert len(edges) == len(graphs[0].edges)


def test_a_molecule_written_as_text_is_drawn_as_a_graph():
    pytest.importorskip("matplotlib")
    pytest.importorskip("rdkit")
    molecules = ["CCO", "CCN", "CCCO", "CCCN"]
    machine = m.SVC(kernel=m.WeisfeilerLehman(1)).fit(molecules, [1, 0, 1, 0])
    [why] = m.explain_within(machine, ["CCO"])
    assert len(why.values) == len(why.plot().texts)


def test_nodes_stand_apart_as_far_as_paths_between_them_are_long():
    path = graph_layout(4, np.array([[0, 1], [1, 2], [2, 3]]))
    apart = np.linalg.norm(path[:, None] - path[None, :], axis=2)
    assert np.allclose(apart, np.abs(np.subtract.outer(range(4), range(4))), atol=1e-6)
    ring = graph_layout(6, np.array([[i, (i + 1) % 6] for i in range(6)]))
    radii = np.linalg.norm(ring - ring.mean(axis=0), axis=1)
    assert np.allclose(radii, radii[0], rtol=1e-3)
    two = graph_layout(2, np.empty((0, 2), dtype=int))
    assert np.linalg.norm(two[0] - two[1]) > 0.5
    assert graph_layout(1, np.empty((0, 2), dtype=int)).shape == (1, 2)


def test_refusals_say_why():
    X = random.normal(size=(40, 3))
    with pytest.raises(NoExplanation, match="does not count what stands at the places"):
        m.explain_within(m.SVC().fit(X, TWO), X)
    with pytest.raises(NoExplanation, match="does not count"):
        m.explain_within(m.SVC(kernel=m.Subsequence(2)).fit(WORDS, TWO), WORDS)
    graphs = rings(12)
    machine = m.SVC(kernel=m.WeisfeilerLehmanOptimalAssignment(1)).fit(graphs, np.arange(12) % 2)
    with pytest.raises(NoExplanation, match="does not count"):
        m.explain_within(machine, graphs)
    frame = pd.DataFrame({"left": WORDS, "right": WORDS[::-1]})
    one = m.SVC(kernel=m.Spectrum(2).on("left")).fit(frame, TWO)
    [why] = m.explain_within(one, frame[:1])
    np.testing.assert_allclose(why.answer, one.decision_function(frame[:1])[0])
    both = m.SVC(kernel=m.Spectrum(2).on("left") + m.Spectrum(2).on("right")).fit(frame, TWO)
    with pytest.raises(InvalidParameter, match=r"several columns: 'left', 'right'\. Pass one"):
        m.explain_within(both, frame)
    with pytest.raises(InvalidParameter, match="column='middle' is not one of"):
        m.explain_within(both, frame, column="middle")
    joint = (m.Spectrum(2).on("left") + m.Spectrum(2).on("right")).normalized()
    with pytest.raises(NoExplanation, match="different things, such as two columns"):
        m.explain_within(m.SVC(kernel=joint).fit(frame, TWO), frame)
    plain = m.SVC(kernel=m.Delta().on("left") + m.Subsequence(2).on("right")).fit(frame, TWO)
    with pytest.raises(NoExplanation, match=r"no summand of .* permutation_importance"):
        m.explain_within(plain, frame)
    two = m.KernelRidge(1.0, kernel=m.Spectrum(2)).fit(WORDS, np.c_[TWO, THREE])
    with pytest.raises(NoExplanation, match="several targets"):
        m.explain_within(two, WORDS)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("kernel", [m.GlobalAlignment(), m.DTW(), m.DTW().normalized()], ids=str)
def test_alignments_are_no_sums_over_steps(kernel):
    series = [random.normal(size=5 + i % 3) for i in range(12)]
    machine = m.KernelRidge(1.0, kernel=kernel).fit(series, random.normal(size=12))
    with pytest.raises(NoExplanation, match=r"all its steps take part .* permutation_importance"):
        m.explain_within(machine, series)


def test_one_column_of_a_table():
    frame = pd.DataFrame({"age": random.normal(size=40), "dna": WORDS, "rna": WORDS[::-1]})
    letters, others = 2.0 * m.Spectrum(2).normalized().on("dna"), m.RBF(gamma=0.5).on("age")
    machine = m.SVC(kernel=others + letters + m.Spectrum(3).on("dna")).fit(frame, TWO)
    found = m.explain_within(machine, frame[:6])
    assert {why.column for why in found} == {"dna"}
    assert [why.item for why in found] == WORDS[:6]
    np.testing.assert_allclose(
        [why.answer for why in found], machine.decision_function(frame[:6]), atol=1e-12
    )
    # The base is what the machine says of a row without letters.
    empty = frame[:6].assign(dna="")
    np.testing.assert_allclose(
        [why.base for why in found], machine.decision_function(empty), atol=1e-12
    )
    assert np.ptp([why.base for why in found]) > 1e-3
    [alone] = m.explain_within(machine, frame[:1], column="dna")
    np.testing.assert_allclose(alone.values, found[0].values, atol=1e-12)
    both = m.KernelRidgeClassifier(1.0, kernel=letters + m.Spectrum(2).on("rna"))
    both.fit(frame, THREE)
    dna, rna = (m.explain_within(both, frame[:1], column=name)[0] for name in ("dna", "rna"))
    assert rna.item == WORDS[-1]
    np.testing.assert_allclose(dna.answer, rna.answer, atol=1e-10)
    np.testing.assert_allclose(dna.answer, both.decision_function(frame[:1])[0], atol=1e-10)
    assert dna.of_class(1).column == "dna"


def test_graphs_in_a_column():
    graphs = rings(12)
    frame = pd.DataFrame({"graph": graphs, "size": np.arange(12.0)})
    kernel = m.WeisfeilerLehman(1).on("graph") + m.Linear().on("size")
    machine = m.SVC(kernel=kernel).fit(frame, np.arange(12) % 2)
    [why] = m.explain_within(machine, frame[:1])
    assert why.labels == list(graphs[0].labels)
    assert len(why.edges) == len(graphs[0].edges)


def test_letters_of_a_vote():
    frame = pd.DataFrame({"dna": WORDS, "age": random.normal(size=40)})
    machine = m.AutoClassifier(max_members=2).fit(frame, TWO)
    found = m.explain_within(machine, frame[:3])
    why = m.explain(machine, frame[:3])
    at = [why.names.index(f"dna[{place}]") for place in range(1, 13)]
    for i, within in enumerate(found):
        assert (within.item, within.column) == (WORDS[i], "dna")
        np.testing.assert_array_equal(within.values, why.values[i, at])
        assert within.answer == pytest.approx(machine.decision_function(frame[:3])[i], abs=1e-9)
    with pytest.raises(NoExplanation, match=r"'dna' of its columns\. Pass one of them"):
        m.explain_within(machine, frame, column="age")


@pytest.mark.parametrize(
    ("kernel", "split"),
    [
        (m.BagOfWords(k=2), False),
        (m.BagOfWords("frequency", k=2), False),
        (m.BagOfWords(k=2, pattern=None).normalized(), True),
        (m.BagOfWords("binary", pattern=None), True),
    ],
)
def test_runs_of_words_and_lists_of_tokens(kernel, split):
    texts = ["the cat sat on the mat", "a dog ran on the road", "the cat ran", "dog on the road"]
    rows = [text.split() for text in texts] if split else texts
    machine = m.SVC(kernel=kernel).fit(rows, [0, 1, 0, 1])
    for row, why, value in zip(
        rows, m.explain_within(machine, rows), machine.decision_function(rows), strict=True
    ):
        assert len(why.values) == len(row)
        assert why.answer == pytest.approx(value, abs=1e-12)

"""Components of tables against NumPy, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.study.components import find_components


def frame(rows=60):
    random = np.random.default_rng(0)
    sources = random.uniform(-1, 1, (rows, 2))
    X = sources @ np.array([[1.0, 2.0, 0.5], [-1.0, 0.3, 2.0]]) + 0.01 * random.normal(
        size=(rows, 3)
    )
    return pd.DataFrame(X, columns=["a", "b", "c"]), sources


def test_principal_components_are_those_of_the_correlations():
    table, _ = frame()
    found = find_components(mercer.read_table(table, False), "pca", 3)
    values, vectors = np.linalg.eigh(np.corrcoef(table.to_numpy().T))
    np.testing.assert_allclose(found.shares, values[::-1] / 3, rtol=1e-10)
    cosines = np.abs(np.einsum("ij,ji->i", found.weights, vectors[:, ::-1]))
    np.testing.assert_allclose(cosines, 1, rtol=1e-8)
    Z = ((table - table.mean()) / table.std(ddof=0)).to_numpy()
    np.testing.assert_allclose(found.scores, Z @ found.weights.T, atol=1e-10)
    assert found.table().names == ["row", "component_1", "component_2", "component_3"]
    assert len(found.table()) == 60


def test_independent_components_find_the_sources():
    table, sources = frame(400)
    found = find_components(mercer.read_table(table, False), "ica")
    alike = np.abs(np.corrcoef(found.scores.T, sources.T)[:2, 2:])
    assert alike.max(axis=1).min() > 0.98
    assert found.names == ["source_1", "source_2"]
    assert found.shares[0] >= found.shares[1]
    assert found.shares.sum() == pytest.approx(1, abs=1e-3)
    # Each standardised column is the sum of what the sources do.
    Z = ((table - table.mean()) / table.std(ddof=0)).to_numpy()
    np.testing.assert_allclose(found.scores @ found.weights, Z, atol=0.05)


def test_gaps_and_other_columns_are_told():
    table, _ = frame()
    table.loc[3, "a"] = np.nan
    table["kind"] = ["x", "y", "z"] * 20
    table["same"] = 1.5
    found = find_components(mercer.read_table(table, "kind"), "pca")
    assert found.columns == ["a", "b", "c"]
    assert "1 missing values took the mean of their column." in found.notes
    assert any("same" in note for note in found.notes)
    assert list(found.shown_groups()) == ["x", "y", "z"]
    picture = found.picture()
    assert picture.count("<title>") == 60
    assert "row 1: x" in picture


def test_a_page(tmp_path):
    table, _ = frame()
    table.columns = ["<b>a</b>", "b", "c"]
    found = find_components(mercer.read_table(table, False), "pca", 1)
    text = found.write_report(tmp_path / "page.html").read_text()
    assert "<b>a</b>" not in text
    assert "&lt;b&gt;a&lt;/b&gt;" in text
    assert "http" not in text.replace("http-equiv", "")


def test_what_is_refused():
    table, _ = frame()
    read = mercer.read_table(table, False)
    with pytest.raises(InvalidParameter, match="There is no method 'tsne'"):
        find_components(read, "tsne")
    with pytest.raises(InvalidParameter, match="Ask for 1 to 3"):
        find_components(read, "pca", 4)
    texts = mercer.read_table(pd.DataFrame({"t": ["u", "v"] * 9}), False)
    with pytest.raises(InvalidInput, match="no column of numbers"):
        find_components(texts, "pca")

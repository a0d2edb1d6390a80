"""Common walks of two graphs, on the page and in Python."""

from itertools import pairwise

import numpy as np
import pytest

from tests.lab.reading import result, settle, value, values


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("pair", ["path", "rings", "star", "same"])
def test_the_kernel_is_that_of_python(lab, run_python, pair, share):
    page = lab(f"#walks?pair={pair}&share={share}")
    names = run_python(page)
    K = names["K"]
    assert value(page, "kernel") == pytest.approx(K[0, 1], rel=1e-9)
    assert value(page, "first") == pytest.approx(K[0, 0], rel=1e-9)
    assert value(page, "second") == pytest.approx(K[1, 1], rel=1e-9)
    assert value(page, "limit") == pytest.approx(names["limit"], rel=1e-9)
    assert value(page, "similarity") == pytest.approx(K[0, 1] / (K[0, 0] * K[1, 1]) ** 0.5)


def test_walks_are_counted(lab):
    page = lab("#walks?steps=4")
    triangle = np.ones((3, 3)) - np.eye(3)
    path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    both = np.kron(triangle, path)
    assert values(page, "product") == [12, both.sum()]
    assert value(page, "walks") == np.linalg.matrix_power(both, 4).sum()
    walk = result(page, "r.walk")
    assert len(walk) == 5
    assert all(both[a, b] for a, b in pairwise(walk))


def test_another_walk_and_other_graphs(lab, run_python):
    page = lab("#walks")
    page.get_by_role("button", name="Another walk").focus()
    page.keyboard.press("Enter")
    settle(page)
    assert "walk=2" in page.evaluate("location.hash")
    page.get_by_label("Edges of the first graph").fill("1-2 2-3 3-4 nonsense 9-1")
    settle(page)
    assert value(page, "kernel") == pytest.approx(run_python(page)["K"][0, 1], rel=1e-9)
    page.get_by_label("Edges of the first graph").fill("")
    settle(page)
    assert value(page, "kernel") == 0
    assert "no walks" in page.locator(".verdict").inner_text()

"""Ridge and Gaussian process: closed forms, equal to Python's."""

import numpy as np
import pytest

from tests.lab.reading import points, result, settle, value


@pytest.mark.parametrize(
    "place",
    [
        "#process",
        "#process?kernel=matern2.5&width=0.5",
        "#process?kernel=matern1.5&noise=0.5",
        "#process?kernel=matern0.5&width=2&noise=0.02",
        "#process?width=3&noise=0.03&points=-350,20,0;-345,30,0;0,-100,0;10,-95,0;390,250,0",
    ],
)
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, place):
    page = lab(place)
    names = run_python(page)
    np.testing.assert_allclose(result(page, "r.mean"), names["mean"], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        result(page, "r.deviation"), names["deviation"], rtol=1e-7, atol=1e-8
    )
    ridge = names["ridge"].predict(names["grid"])
    np.testing.assert_allclose(result(page, "r.mean"), ridge, rtol=1e-8, atol=1e-8)
    evidence = names["process"].log_marginal_likelihood_value_
    assert value(page, "evidence") == pytest.approx(evidence, rel=1e-8)
    assert value(page, "mean") == pytest.approx(names["mean"][80], rel=1e-8, abs=1e-8)
    K = names["kernel"](names["x"])
    noise = names["process"].alpha
    smoother = np.linalg.solve(K + noise * np.eye(len(K)), K)
    assert value(page, "freedom") == pytest.approx(np.trace(smoother), rel=1e-8)
    c = np.linalg.solve(K + noise * np.eye(len(K)), names["y"])
    assert value(page, "norm") == pytest.approx(c @ K @ c, rel=1e-6)
    assert value(page, "residuals") == pytest.approx(np.sum((names["y"] - K @ c) ** 2), rel=1e-6)


def test_before_any_data(lab, run_python):
    page = lab("#process?points=")
    assert "Nothing is measured" in page.locator(".verdict").inner_text()
    names = run_python(page)
    np.testing.assert_allclose(result(page, "r.deviation"), names["deviation"], rtol=1e-12)
    assert result(page, "r.mean") == names["mean"].tolist() == [0.0] * 161


def test_functions_follow_the_points(lab):
    page = lab("#process?noise=0.01")
    page.locator(".point").nth(3).focus()
    before = result(page, "r.samples")
    x, y, _ = points(page)[3]
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    settle(page)
    moved = points(page)[3]
    assert moved[:2] == [x, pytest.approx(y + 0.5)]
    after = result(page, "r.samples")
    near = round((x + 4) * 10)  # the functions stand on tenths
    for old, new in zip(before, after, strict=True):
        assert old[near] == pytest.approx(y, abs=0.06)
        assert new[near] == pytest.approx(moved[1], abs=0.06)
        # The same numbers drew them: far away little has changed.
        assert abs(np.array(old) - new)[-5:].max() < 0.2
    page.get_by_role("button", name="Draw others").click()
    settle(page)
    assert abs(np.array(result(page, "r.samples")) - after).max() > 0.1
    page.get_by_label("Functions of the posterior").uncheck()
    settle(page)
    assert result(page, "r.samples") == []


def test_functions_have_the_moments_of_the_posterior(lab):
    page = lab("#process?width=0.7")
    drawn = page.evaluate(
        """() => {
          const { experiment, state } = lab.stage, all = [];
          for (let seed = 0; seed < 150; seed++) {
            all.push(...experiment.compute({ ...state, seed }).samples.map((s) => s[65]));
          }
          return all;
        }"""
    )
    mean, deviation = result(page, "[r.mean[130], r.deviation[130]]")
    assert np.mean(drawn) == pytest.approx(mean, abs=4 * deviation / np.sqrt(len(drawn)))
    assert np.std(drawn) == pytest.approx(deviation, rel=0.15)

"""Records travel: to plain data and back, and nothing else comes in."""

import json
import math

import numpy as np
import pytest

from mercer import SVC, InvalidInput, Record, load_record, save
from mercer.report.view import render
from tests.report import cases


def plain(value):
    """Return the same with lists for arrays; fails on anything that is not plain."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        assert value.dtype.kind in "fiub"
        return value.tolist()
    assert value is None or type(value) in (str, int, float, bool)
    assert not isinstance(value, float) or math.isfinite(value)
    return value


@pytest.mark.parametrize("case", cases.ALL)
def test_round_trip_renders_the_same_page(case):
    record = case()
    data = record.to_dict()
    again = Record.from_dict(data)
    assert render(again) == render(record)
    # Through JSON alone, too: NaN is fine inside of arrays.
    assert render(Record.from_dict(json.loads(json.dumps(plain(data))))) == render(record)


def test_it_travels_inside_a_model_file(tmp_path):
    record = cases.two_classes()
    (X, _, y, _), _ = cases.heart()
    save(SVC().fit(X, y), tmp_path / "heart.mercer", record=record.to_dict())
    again = Record.from_dict(load_record(tmp_path / "heart.mercer"))
    assert render(again) == render(record)


def test_infinite_numbers_travel():
    data = cases.two_classes().to_dict()
    data["proof"]["primal"] = "inf"
    record = Record.from_dict(data)
    assert record.proof.primal == math.inf
    assert record.to_dict()["proof"]["primal"] == "inf"
    assert "∞" in render(record)


def changed(path, value):
    data = cases.two_classes().to_dict()
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["version"], 99),
        (["title"], 7),
        (["trust"], "surely"),
        (["scores"], {"a": 1}),
        (["scores", 0, "value"], "high"),
        (["scores", 0, "value"], True),
        (["scores", 0, "value"], None),
        (["scores", 0], []),
        (["proof", "iterations"], 1.5),
        (["confusion", "counts"], np.zeros((2, 3), dtype=int)),
        (["confusion", "counts"], np.array([["<script>", "a"], ["b", "c"]])),
        (["search", "best"], 10_000),
        (["search", "places"], np.full((12, 2), 99)),
        (["neighbours", "near"], np.full((2, 2), -7)),
        (["neighbours", "columns"], ["one"]),
        (["gram", "levels"], np.zeros((3, 3), dtype=np.uint8)),
        (["map", "group"], np.zeros(2, dtype=int)),
        (["map", "x"], np.array([object()])),
        (["unknown"], 1),
    ],
)
def test_other_things_are_refused(path, value):
    with pytest.raises(InvalidInput, match="Report record"):
        Record.from_dict(changed(path, value))


def test_a_missing_field_is_named():
    data = cases.two_classes().to_dict()
    del data["headline"]
    with pytest.raises(
        InvalidInput, match=r"record lacks or has to lack headline.*make the report"
    ):
        Record.from_dict(data)
    with pytest.raises(InvalidInput, match="version None"):
        Record.from_dict([1, 2])


def test_a_record_from_before_references_still_loads():
    record = cases.two_classes()
    data = record.to_dict()
    del data["references"]
    again = Record.from_dict(data)
    assert again.references == []
    assert render(again) == render(record)


def test_texts_of_a_changed_file_are_still_escaped():
    data = changed(["kernel_reasons"], ["<script>alert(1)</script>\ud800"])
    page = render(Record.from_dict(data))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    page.encode("utf-8")

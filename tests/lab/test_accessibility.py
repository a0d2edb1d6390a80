"""Every experiment before axe-core, where the path of its script is in MERCER_AXE.

It is no part of the package: ``npm pack axe-core`` gives it, and ``package/axe.min.js`` is the
script.
"""

import os
from pathlib import Path

import pytest

from mercer.lab.assemble import EXPERIMENTS

AXE = os.environ.get("MERCER_AXE")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.mark.skipif(AXE is None, reason="MERCER_AXE does not say where axe-core is")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_axe_finds_nothing(lab, name, width, scheme):
    size = {"width": width, "height": 900}
    page = lab(f"#{name}", viewport=size, color_scheme=scheme, bypass_csp=True)
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = page.evaluate("(rules) => axe.run(document, { runOnly: rules })", RULES)
    assert len(found["passes"]) > 30
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []

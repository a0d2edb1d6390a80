"""Join the files of the page into one HTML file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from importlib import resources
from pathlib import Path

from mercer._files import atomic

CORE = (
    "start", "linalg", "kernels", "box_qp", "svm", "plot", "points", "controls", "address", "show",
)  # fmt: skip
"""The scripts that every experiment uses, in the order in which they build on each other."""

EXPERIMENTS = (
    "margin", "lift", "process", "perceptron", "network", "components", "discriminant", "sources",
    "penalties", "balls", "descent", "gaussian", "subsequences", "alignment", "colours", "walks",
)  # fmt: skip
"""One script for each experiment, in the order of the page."""

SCRIPTS = (*CORE, *EXPERIMENTS, "main")


def render() -> str:
    """Return the lab as the text of an HTML page.

    A content security policy lets only the page's own style and script act, by their hashes.
    """
    style = _asset("style.css")
    script = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    page = _asset("lab.html")
    parts = {
        "@STYLE_HASH@": _hash(style),
        "@SCRIPT_HASH@": _hash(script),
        "@STYLE@": style,
        "@SCRIPT@": script,
    }
    for mark, part in parts.items():
        page = page.replace(mark, part)
    return page


def write_lab(path: str | os.PathLike[str]) -> Path:
    """Write the lab to a file, whole or not at all, and return its path."""
    atomic.write(path, [render().encode("utf-8")])
    return Path(path)


@cache
def _asset(name: str) -> str:
    return resources.files("mercer.lab").joinpath("page", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"

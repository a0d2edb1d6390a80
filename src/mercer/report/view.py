"""Render a record as one self-contained page. Nothing is computed here but places on the page."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from mercer._files import atomic
from mercer.exceptions import MissingDependency
from mercer.report import leaderboard, phrases, text
from mercer.report.proof.statements import CarriedProof
from mercer.report.record import Record

_TRUST = {
    "yes": "Can be trusted",
    "caution": "With care",
    "no": "Do not rely on it",
    "unknown": "Not judged",
}


def render(record: Record, proof: CarriedProof | None = None) -> str:
    """Return the report as the text of an HTML page that loads nothing.

    Every text of the record is escaped; a content security policy lets only the page's own style
    and scripts act, by their hashes. With a ``proof`` the page carries the training data and a
    verifier that checks the certificate in the browser.
    """
    style, script, verifier = _asset("style.css"), _asset("script.js"), _asset("verifier.js")
    page: str = (
        _environment()
        .get_template("report.html")
        .render(
            record=record,
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            carried=proof,
            verifier=verifier,
            verifier_hash=_hash(verifier),
            trust=_TRUST[record.trust],
        )
    )
    # A record from a file may hold halves of surrogate pairs, which no page can.
    return page.encode("utf-8", "replace").decode("utf-8")


def write_report(
    record: Record, path: str | os.PathLike[str], proof: CarriedProof | None = None
) -> Path:
    """Write the report of a record to a file, whole or not at all, and return its path.

    A ``proof`` (:meth:`Study.carried_proof`) puts the training data into the page.

    Parameters
    ----------
    record : Record
        What :func:`describe` or :class:`Study` gathered.
    path : str or path
        The file: a page of HTML.
    proof : CarriedProof, optional
        What a reader needs to check the answer.

    Examples
    --------
    >>> from mercer import SVC, describe, load_data, write_report
    >>> X, y = load_data("heart").X, load_data("heart").y
    >>> machine = SVC().fit(X[:200], y[:200])
    >>> write_report(describe(machine, X[:200], y[:200], X[200:], y[200:]), "report.html").name
    'report.html'
    """
    atomic.write(path, [render(record, proof).encode("utf-8")])
    return Path(path)


def write_page(template: str, path: str | os.PathLike[str], **values: Any) -> Path:
    """Write another page in the style of a report, from a template and its values."""
    style = _asset("style.css")
    page = _environment().get_template(template)
    text = page.render(style=style, style_hash=_hash(style), **values)
    atomic.write(path, [text.encode("utf-8", "replace")])
    return Path(path)


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingDependency(
            "A report needs the package jinja2, which is not installed. Install it with "
            "pip install 'mercer[cli]'."
        ) from None
    from markupsafe import Markup

    from mercer.report import charts, curve_charts, inside_charts, share_charts

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mercer.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=text.number, fixed=text.fixed, percent=text.percent, counted=text.counted
    )
    environment.globals.update(
        charts=charts,
        phrases=phrases,
        leaderboard=leaderboard,
        share_charts=share_charts,
        curve_charts=curve_charts,
        inside_charts=inside_charts,
        own=Markup,
        enumerate=enumerate,
        zip=zip,
    )
    return environment


@cache
def _asset(name: str) -> str:
    return resources.files("mercer.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"

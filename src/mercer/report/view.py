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
from mercer._typing import Model, Objects, SampleWeights, Targets
from mercer.exceptions import MissingDependency
from mercer.report import leaderboard, phrases, text
from mercer.report.proof.statements import CarriedProof, carried_proof
from mercer.report.record import Record

_TRUST = {
    "yes": "Can be trusted",
    "caution": "With care",
    "no": "Do not rely on it",
    "unknown": "Not judged",
}

VERIFIER = (
    *("reading", "digest", "kernels", "definite", "products"),
    *("margins", "losses", "weights", "residuals", "landmarks"),
    *("proof", "page"),
)
"""The parts of the verifier in their order: the tables of the judges come after these."""


def render(record: Record, proof: CarriedProof | None = None) -> str:
    """Return the report as the text of an HTML page that loads nothing.

    Every text of the record is escaped; a content security policy lets only the page's own style
    and scripts act, by their hashes. With a ``proof`` the page carries the training data and a
    verifier that checks the certificate in the browser.
    """
    style, script, verifier = _asset("style.css"), _asset("script.js"), verifier_script()
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


def render_proof(proof: CarriedProof, title: str) -> str:
    """Return a page that holds a proof and its verifier, and nothing else."""
    style, verifier = _asset("style.css"), verifier_script()
    page: str = (
        _environment()
        .get_template("proof_page.html")
        .render(
            title=title,
            carried=proof,
            style=style,
            style_hash=_hash(style),
            verifier=verifier,
            verifier_hash=_hash(verifier),
        )
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def write_proof(
    model: Model,
    X: Objects,
    y: Targets,
    path: str | os.PathLike[str],
    *,
    sample_weight: SampleWeights = None,
    title: str | None = None,
) -> Path:
    """Write a page that proves how near a fitted machine is to the best one; return its path.

    The page carries the training data as the machine has seen them, its answer, and a verifier
    that computes the certificate anew in the browser; ``mercer verify`` does the same in Python.
    **Whoever has the page has the data.** It is written only if a verifier confirms it.

    Parameters
    ----------
    model : estimator
        A fitted machine of mercer with a certificate.
    X, y
        What it was fitted on; ``y`` is None for a one-class machine.
    path : str or path
        The file: a page of HTML.
    sample_weight : array of shape (n,), optional
        The weights that it was fitted with.
    title : str, optional
        The heading; the name of the machine by default.

    Examples
    --------
    >>> from mercer import SVC, load_data, write_proof
    >>> heart = load_data("heart")
    >>> machine = SVC(multi_class="crammer_singer").fit(heart.X, heart.y)
    >>> write_proof(machine, heart.X, heart.y, "proof.html").name
    'proof.html'
    """
    proof = carried_proof(model, X, y, sample_weight)
    page = render_proof(proof, title or type(model).__name__)
    atomic.write(path, [page.encode("utf-8")])
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
    from mercer.report.template_cache import TemplateCache

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mercer.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=TemplateCache(),
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
def verifier_script() -> str:
    """Return the verifier of proofs in JavaScript, whose parts are files of their own."""
    parts = "\n".join(_asset(f"verifier/{name}.js") for name in VERIFIER)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def _asset(name: str) -> str:
    return resources.files("mercer.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"

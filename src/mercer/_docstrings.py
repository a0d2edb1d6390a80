"""Docstrings of classes that share parameters: each parameter is described where it first appears.

A class says what is its own. What its bases say of the other parameters of its constructor, and of
attributes, is added to its docstring when the class is made, so that ``help`` shows all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from inspect import cleandoc
from typing import Final

_SECTION: Final = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_SHARED: Final = ("Parameters", "Attributes")

Sections = dict[str, str]
"""The text of each section by its title; what stands before the first has the title "" ."""


def complete(cls: type, names: Collection[str]) -> None:
    """Add to the docstring of a class what its bases say of ``names`` and of attributes."""
    if not vars(cls).get("__doc__"):
        return
    sections = _sections(cleandoc(cls.__doc__ or ""))
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith("mercer.")]
    for title in _SHARED:
        own = _entries(sections.get(title, ""))
        known = set(_names(own))
        added = []
        for base in bases:
            for head, text in _said_by(base, title):
                new = [name for name in _names([(head, "")]) if name not in known]
                if new and (title == "Attributes" or set(new) <= set(names)):
                    known.update(new)
                    added.append((head, text))
        if added:
            entries = _in_order([*own, *added], names) if title == "Parameters" else [*own, *added]
            sections[title] = "\n".join(head + text for head, text in entries)
    cls.__doc__ = _joined(sections)


@cache
def _said_by(base: type, title: str) -> list[tuple[str, str]]:
    return _entries(_sections(cleandoc(vars(base).get("__doc__") or "")).get(title, ""))


def _sections(doc: str) -> Sections:
    pieces = _SECTION.split(doc)
    titles = ["", *pieces[1::2]]
    return dict(zip(titles, (piece.rstrip("\n") for piece in pieces[::2]), strict=True))


def _entries(section: str) -> list[tuple[str, str]]:
    """Return each entry: its head, ``name : type``, and what follows, with its line breaks."""
    pieces = re.split(r"^(?=\S)", section, flags=re.MULTILINE)
    split = [piece.rstrip("\n").partition("\n") for piece in pieces if piece.strip()]
    return [(head, f"\n{text}" if text else "") for head, _, text in split]


def _names(entries: Collection[tuple[str, str]]) -> list[str]:
    heads = [head.partition(":")[0] for head, _ in entries]
    return [name.strip(" *") for head in heads for name in head.split(",")]


def _in_order(entries: list[tuple[str, str]], names: Collection[str]) -> list[tuple[str, str]]:
    """Return entries in the order of the constructor."""
    place = {name: number for number, name in enumerate(names)}
    return sorted(entries, key=lambda entry: place.get(_names([entry])[0], len(place)))


def _joined(sections: Sections) -> str:
    """Return the docstring, with shared sections before the others."""
    first = [title for title in ("", *_SHARED) if title in sections]
    last = [title for title in sections if title not in first]
    texts = [
        f"{title}\n{'-' * len(title)}\n{sections[title]}" if title else sections[title]
        for title in [*first, *last]
    ]
    return "\n\n".join(texts) + "\n"

"""The directive ``kernel-table``: one row for each kernel, read from the registry."""

import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from mercer.kernels.registry import ROWS

_TAKES = {
    "vectors": "numbers",
    "histograms": "numbers ≥ 0",
    "categories": "categories",
    "strings": "text",
    "series": "series",
    "graphs": "graphs",
    "trees": "trees",
}
_DEFINITE = {
    "POSITIVE": "positive",
    "CONDITIONAL": "conditional",
    "UNKNOWN": "unknown",
    "INDEFINITE": "no",
}
_WIDTHS = ("gamma", "sigma", "length_scale")
_HEADINGS = ("Kernel", "What it is", "Takes", "Definite", "φ", "Gradients")


def setup(app):
    """Register the directive."""
    app.add_directive("kernel-table", KernelTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class KernelTable(Directive):
    """A table of all kernels."""

    def run(self):
        lines = ["::::{list-table}", ":header-rows: 1", ":class: kernel-table", ""]
        lines += _row(_HEADINGS)
        for row in ROWS:
            lines += _row(_cells(row))
        lines.append("::::")
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, "registry"), self.content_offset, holder)
        return holder.children


def _row(cells):
    first, *rest = cells
    return [f"* - {first}", *(f"  - {cell}" for cell in rest)]


def _cells(row):
    names = " ".join(f'`"{name}"`' for name in (row.name, *row.aliases))
    return (
        f"{{py:class}}`~mercer.{row.kernel.__name__}` <br> {names}",
        f"{_escaped(row.title)}. <br> <span class='formula'>{_escaped(row.formula)}</span>",
        _TAKES[row.domain],
        ", ".join(dict.fromkeys(_DEFINITE[kernel.definite.name] for kernel in row.examples)),
        "yes" if any(kernel.has_features for kernel in row.examples) else "–",
        ", ".join(_gradients(row)) or "–",
    )


def _gradients(row):
    """Return the parameters with an analytic derivative; the three names of a width are one."""
    names = [name.partition("[")[0] for k in row.examples for name in k.free_parameters()]
    has_width = all(hasattr(row.kernel, "width_gradient") for _ in names)
    return dict.fromkeys("width" if has_width and n in _WIDTHS else f"`{n}`" for n in names)


def _escaped(text):
    """Return text as it is written, without the marks of code and of Markdown."""
    text = re.sub(r":\w+:`~?(.*?)`", r"\1", text).replace("``", "")
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|$~^" else c for c in text)

"""Machines that show themselves in notebooks: the diagram, the kernel and the certificate."""

from __future__ import annotations

from html import escape

from sklearn.utils import estimator_html_repr

_LONG = 300
"""Letters of a kernel that are shown; sums over the columns of a table have thousands."""


class ShownMachine:
    """A machine whose page in a notebook has more than scikit-learn's diagram of parameters."""

    def _html_repr(self) -> str:
        """Return the diagram of scikit-learn, beside it the kernel and the certificate."""
        # scikit-learn's display asks for it by this name.
        diagram: str = estimator_html_repr(self)
        facts = "".join([self._shown_kernel(), self._shown_certificate()])
        if not facts:
            return diagram
        style = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start"
        return f'<div style="{style}"><div>{diagram}</div><div>{facts}</div></div>'

    def _shown_kernel(self) -> str:
        kernel = vars(self).get("kernel_")
        if kernel is None:
            return ""
        text = str(kernel)
        text = text if len(text) <= _LONG else f"{text[:_LONG]} …"
        return f"<p>Kernel <code>{escape(text)}</code></p>"

    def _shown_certificate(self) -> str:
        # The diagram lists all fitted attributes, so that the machine was judged for it already.
        certificate = vars(self).get("certificate_")
        shown: str = "" if certificate is None else certificate._repr_html_()
        return shown

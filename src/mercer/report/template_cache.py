"""Compiled templates, kept where Python keeps compiled modules."""

from __future__ import annotations

import contextlib
import sys
from importlib import resources
from importlib.util import cache_from_source
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from mercer._files import atomic


class TemplateCache(BytecodeCache):
    """The bytecode of templates, in the ``__pycache__`` of their folder.

    As for modules, files that are missing, old or broken are made again, and where none can be
    written none are. To compile the templates of a report takes longer than to fill them.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """Return the file for a template of the version of Jinja that is installed."""
        template = str(resources.files("mercer.report").joinpath("templates", name))
        return cache_from_source(
            template, optimization=f"jinja{jinja2.__version__}".replace(".", "")
        )

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a template; leave the bucket empty where there is none."""
        with contextlib.suppress(OSError), open(bucket.key, "rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a template, if Python may write bytecode at all."""
        if sys.dont_write_bytecode:
            return
        with contextlib.suppress(OSError):
            Path(bucket.key).parent.mkdir(parents=True, exist_ok=True)
            atomic.write(bucket.key, [bucket.bytecode_to_string()])

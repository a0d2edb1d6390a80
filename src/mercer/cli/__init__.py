"""The command line: ``mercer fit heart`` and the rest. Nothing heavy is imported here."""

from mercer.cli.app import main

__all__ = ["main"]

"""Run the code of the guide, so that every block in it is true.

Blocks of one page share their names and run from top to bottom: ``python`` blocks are executed,
``pycon`` blocks are compared with the output they show, and so are the commands ``$ mercer …`` of
``console`` blocks. What fails is a warning of the build, and so an error with ``-W``.
"""

import contextlib
import doctest
import io
import re
import shlex
import sys
import tempfile
import types
import warnings
from pathlib import Path

from sphinx.util import logging

_log = logging.getLogger(__name__)
_BLOCK = re.compile(r"^```(python|pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PAGES = ("index.md", "guide/*.md", "course/*.md")
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def setup(app):
    """Run the pages that are read again."""
    app.connect("source-read", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _check(app, docname, source):
    path = Path(app.srcdir) / f"{docname}.md"
    if any(path.relative_to(app.srcdir).match(page) for page in _PAGES):
        for line, message in failures(source[0], docname):
            _log.warning(message, location=(docname, line))


def failures(text, name):
    """Yield (line, message) for each block of a page that does not do what it says."""
    module = sys.modules[f"guide_{Path(name).name}"] = types.ModuleType(f"guide_{Path(name).name}")
    names = module.__dict__
    check = {"python": _execute, "pycon": _compare, "console": _command}
    with tempfile.TemporaryDirectory() as folder:
        names["_folder"] = folder  # where the commands of a page find the files of earlier ones
        for block in _BLOCK.finditer(text):
            kind, code = block.groups()
            line = text.count("\n", 0, block.start()) + 2
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                yield from check[kind](code, names, name, line)


def _execute(code, names, name, line):
    try:
        exec(compile("\n" * (line - 1) + code, name, "exec"), names)
    except Exception as error:
        yield line, f"a code block of the guide fails: {type(error).__name__}: {error}"


def _compare(code, names, name, line):
    runner = doctest.DocTestRunner(optionflags=_OPTIONS, verbose=False)
    test = doctest.DocTestParser().get_doctest(code, {}, name, name, line - 1)
    test.globs = names
    output = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()):
        failed = runner.run(test, out=output.write, clear_globs=False).failed
    if failed:
        yield line, f"a code block of the guide is not true:\n{output.getvalue()}"


def _command(code, names, name, line):
    from mercer.cli import main

    for command, wanted in re.findall(r"^\$ mercer (.*)\n((?:(?!\$).*\n)*)", code, re.MULTILINE):
        output = io.StringIO()
        both = contextlib.redirect_stdout(output), contextlib.redirect_stderr(output)
        with contextlib.chdir(names["_folder"]), contextlib.suppress(SystemExit), both[0], both[1]:
            main(shlex.split(command))
        if not doctest.OutputChecker().check_output(wanted, output.getvalue(), _OPTIONS):
            yield line, f"mercer {command} of the guide prints something else:\n{output.getvalue()}"


if __name__ == "__main__":
    found = [
        f"{page}:{line}: {message}"
        for pattern in _PAGES
        for page in sorted(Path(__file__).parents[1].glob(pattern))
        for line, message in failures(page.read_text(encoding="utf-8"), page.stem)
    ]
    print("\n".join(found) or "Every block of the guide is true.")
    sys.exit(bool(found))

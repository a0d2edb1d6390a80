"""The lab from the command line."""

import os
import sys

import pytest

from mercer.lab.assemble import render
from tests.cli.command import good, mercer as run, real_mercer


def test_it_writes_the_page(tmp_path):
    out = good(run("lab", "--no-open")).out
    assert "lab.html" in out
    page = (tmp_path / "lab.html").read_text(encoding="utf-8")
    assert page == render()
    good(run("lab", "--no-open"))  # its own page may be replaced
    good(run("lab", "-o", "other.html", "--no-open"))
    assert (tmp_path / "other.html").exists()


def test_it_overwrites_nothing_of_others(tmp_path):
    (tmp_path / "lab.html").write_text("mine", encoding="utf-8")
    result = run("lab", "--no-open")
    assert result.code == 2
    assert "--force" in result.err
    assert (tmp_path / "lab.html").read_text(encoding="utf-8") == "mine"
    good(run("lab", "--no-open", "--force"))


@pytest.mark.skipif(os.name == "nt", reason="the browser is chosen by an environment variable")
def test_it_opens_the_page(tmp_path):
    browser = tmp_path / "browser.py"
    browser.write_text(
        f"#!{sys.executable}\nimport sys\nopen('opened', 'w').write(sys.argv[1])\n",
        encoding="utf-8",
    )
    browser.chmod(0o755)
    result = real_mercer("lab", cwd=tmp_path, BROWSER=f"{browser} %s")
    assert result.code == 0, result.err
    opened = (tmp_path / "opened").read_text(encoding="utf-8")
    assert opened == (tmp_path / "lab.html").as_uri()

"""The page as a file: whole, small, and nothing in it that could call home."""

import re

import pytest

from mercer.lab import assemble


def test_it_is_one_small_file():
    page = assemble.render()
    assert len(page.encode("utf-8")) < 600_000
    assert re.findall(r"@[A-Z_]+@", page) == []  # every mark of the frame was filled
    assert page.count("<script>") == page.count("</script>") == 1
    assert not re.search(r"""(src|href)=["'](?!#|\$|data:)""", page)
    outside = set(re.findall(r"https?://[^\s\"'`<]+", page))
    assert outside == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_every_script_of_the_folder_is_in_it():
    folder = assemble.resources.files("mercer.lab").joinpath("page")
    scripts = {path.name[:-3] for path in folder.iterdir() if path.name.endswith(".js")}
    assert scripts == set(assemble.SCRIPTS)
    assert len(assemble.SCRIPTS) == len(scripts)


def test_it_is_written_whole(tmp_path):
    path = assemble.write_lab(tmp_path / "lab.html")
    assert path.read_text(encoding="utf-8") == assemble.render()
    with pytest.raises(OSError, match="nowhere"):
        assemble.write_lab(tmp_path / "nowhere" / "lab.html")

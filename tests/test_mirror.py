"""The folders of the tests are those of the library."""

from pathlib import Path

TESTS = Path(__file__).parent
LIBRARY = TESTS.parent / "src" / "mercer"


def test_every_folder_of_the_library_has_its_folder_of_tests():
    folders = {path.parent.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py")} - {Path(".")}
    # What is private there (_fast, _files, _plot) has a plain name here.
    mirrored = [Path(*(part.lstrip("_") for part in folder.parts)) for folder in folders]
    bare = [str(folder) for folder in mirrored if not any((TESTS / folder).rglob("test_*.py"))]
    assert not bare

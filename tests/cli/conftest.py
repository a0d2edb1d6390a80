import pytest

from tests.cli.command import real_mercer


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Commands write to the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def heart(tmp_path_factory):
    """The folder in which ``mercer fit heart`` has run, and what it printed."""
    folder = tmp_path_factory.mktemp("heart")
    return folder, real_mercer("fit", "heart", cwd=folder)

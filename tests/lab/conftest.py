import pytest

from mercer.lab.assemble import write_lab
from tests.report.test_browser import BROWSER, Visit, browser  # noqa: F401


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """The address of the lab as ``mercer lab`` writes it."""
    return write_lab(tmp_path_factory.mktemp("lab") / "lab.html").as_uri()


@pytest.fixture
def lab(browser, address):  # noqa: F811
    """Open the lab at a place of its address; what should not happen on it fails the test."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed")
    visits = []

    def visit(place="", **options):
        visits.append(LabVisit(browser, address, place, **options))
        return visits[-1].page

    yield visit
    for opened in visits:
        opened.__exit__(None)


class LabVisit(Visit):
    def __init__(self, browser, address, place, **options):  # noqa: F811
        super().__init__(browser, address + place, **{"color_scheme": "light"} | options)
        self.address = address


@pytest.fixture(scope="session")
def run_python():
    """Run the Python lines that an experiment shows, and return what they define."""

    def run(page):
        names = {}
        exec(page.locator("pre code").inner_text(), names)
        return names

    return run

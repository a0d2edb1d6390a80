"""A pytest plugin that puts mercer's classes in the place of scikit-learn's.

`STAND_IN` in the environment names them, as in `sklearn.svm:SVC sklearn.svm:NuSVC`. At the end it
lists the tests in which one of them took part, one a line: `ours passed test_libsvm_iris`.
"""

import functools
import importlib
import os

import pytest

import mercer

took_part = False
outcomes: list[tuple[str, str]] = []


def note() -> None:
    global took_part
    took_part = True


def noted(thing):
    """Return a class or a function that notes every use of itself."""
    if not isinstance(thing, type):

        @functools.wraps(thing)
        def function(*arguments, **named):
            note()
            return thing(*arguments, **named)

        return function

    usual = thing.__getattribute__

    def look_up(self, name):
        note()
        return usual(self, name)

    # The class itself, for a subclass would have another name and other files.
    thing.__getattribute__ = look_up
    return thing


for place in os.environ["STAND_IN"].split():
    module, name = place.split(":")
    home = importlib.import_module(module)
    getattr(home, name)  # A name that scikit-learn does not have would replace nothing.
    setattr(home, name, noted(getattr(mercer, name)))


def pytest_runtest_setup(item):
    global took_part
    took_part = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    expected = hasattr(report, "wasxfail")  # where scikit-learn itself may fail
    if took_part and not expected and (report.when == "call" or report.failed):
        outcomes.append((report.outcome, item.originalname))
    return report


def pytest_terminal_summary(terminalreporter):
    for outcome, name in outcomes:
        terminalreporter.write_line(f"ours {outcome} {name}")

"""The registry of machines: every public one has a row, and a row is all that it needs."""

import subprocess
import sys
import warnings

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer.estimators import registry
from mercer.estimators.registry import ROWS
from mercer.exceptions import InvalidParameter

IDS = [f"{row.name} {row.task}" for row in ROWS]


def public_machines():
    public = [getattr(mercer, name) for name in mercer.__all__]
    found = [c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)]
    # A search is no machine, but makes one; conformal prediction goes around one.
    around = (mercer.GridSearchCV, mercer.Conformal)
    return [c for c in found if hasattr(c, "fit") and c not in around]


def test_every_public_estimator_has_a_row():
    """A new estimator needs a row in ``mercer.estimators.registry``."""
    machines = public_machines()
    assert len(machines) >= 38
    assert [c.__name__ for c in machines if registry.row_of(c) is None] == []
    assert {row.class_name for row in ROWS} == {c.__name__ for c in machines}


def test_names_are_one_machine_for_each_task():
    assert len({(row.name, row.task) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert registry.find(row.name, row.task) is row
        assert registry.of_class(row.class_name) is row
    with pytest.raises(InvalidParameter, match="no machine 'svr' for classes"):
        registry.find("svr", "classes")
    assert registry.row_of(type("SVC", (), {})) is None


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_rows_say_what_is_true(row):
    machine = row.estimator()
    assert (type(machine).__module__, type(machine).__name__) == (row.home, row.class_name)
    assert row.group in registry.GROUPS.values()
    assert row.takes != "objects" or "kernel" in machine.get_params(deep=False)
    kinds = {"classes": "classifier", "number": "regressor", "outliers": "outlier_detector"}
    kind = getattr(machine, "_estimator_type", None) or machine.__sklearn_tags__().estimator_type
    assert kind == kinds.get(row.task, kind)
    assert hasattr(machine, "transform") or row.task != "features"
    if row.command_line:
        assert row.task in ("classes", "number")
    if row.command_line and row.task == "classes":
        X, y = row.data()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(X, y)
        proven = hasattr(machine, "certificate_") or hasattr(machine, "certificates_")
        assert proven == (not row.unproven)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_the_state_of_a_fit_has_its_kinds(row):
    """Every name in STATE that has to be there is there after a fit, and parts fit together."""
    X, y = row.data()
    for machine in row.machines():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(X) if y is None else machine.fit(X, y)
        if hasattr(machine, "settle"):
            machine.settle()  # as a file does: the certificate is made when it is first needed
        needed = {name for name, kind in machine.STATE.items() if kind.required}
        assert needed <= vars(machine).keys()
        if hasattr(machine, "check_state"):
            machine.check_state()


def test_the_registry_loads_no_machine():
    code = (
        "import sys, mercer\n"
        "assert 'mercer.estimators.registry' not in sys.modules\n"
        "import mercer.estimators.registry as registry\n"
        "homes = {row.home for row in registry.ROWS}\n"
        "print(sorted(homes & set(sys.modules)))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"

"""Constructors that follow from annotated attributes, and parameters that have another name now."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import KW_ONLY, field, is_dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils import all_estimators

from mercer import GP, SVC, Lasso, PenaltyRegressor, Perceptron
from mercer._deprecated import current_names, renamed
from mercer.estimators.constructor import parameters
from mercer.estimators.registry import ROWS
from mercer.kernels.vectors.radial import RBF

THEIRS = dict(all_estimators())


@parameters
class Base(BaseEstimator):
    _: KW_ONLY
    kernel: str = "rbf"
    tol: float = 1e-3
    loss: str = "hinge"
    left_: int = field(init=False, default=7)


@renamed(eps="tol", width="gamma")
@parameters
class Machine(Base):
    kernel: str = "linear"
    _: KW_ONLY
    gamma: float = 1.0
    loss: str = field(init=False, default="squared")


def test_parameters_are_stated_once():
    given = inspect.signature(Machine).parameters.values()
    assert [(p.name, p.default, p.kind.name) for p in given] == [
        ("kernel", "linear", "POSITIONAL_OR_KEYWORD"),
        ("tol", 1e-3, "KEYWORD_ONLY"),
        ("gamma", 1.0, "KEYWORD_ONLY"),
    ]
    assert inspect.signature(Base).parameters["kernel"].kind is inspect.Parameter.KEYWORD_ONLY
    machine = Machine("poly", gamma=2.0)
    assert vars(machine) == {"kernel": "poly", "tol": 1e-3, "gamma": 2.0}
    assert (machine.loss, machine.left_, Base().loss) == ("squared", 7, "hinge")
    assert clone(machine).get_params() == machine.get_params() == vars(machine)
    assert repr(machine) == "Machine(gamma=2.0, kernel='poly')"
    assert machine != clone(machine)


def test_defaults_belong_to_constructors():
    """A machine that was not made by its constructor has no parameters."""
    assert not hasattr(Machine, "gamma")
    with pytest.raises(AttributeError):
        object.__new__(SVC).C  # noqa: B018


def test_a_wrong_argument_is_said_as_python_says_it():
    with pytest.raises(TypeError, match=r"SVC.__init__\(\) got an unexpected keyword argument 'c'"):
        SVC(c=1)
    with pytest.raises(TypeError, match=r"SVC.__init__\(\) takes from 1 to 2 positional arguments"):
        SVC("rbf", 1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'l1_ratio'"):
        Lasso(l1_ratio=0.5)


def test_a_machine_is_more_than_its_parameters():
    """What others do with dataclasses, by their fields alone, is not done with machines."""
    tokenize = pytest.importorskip("dask.base").tokenize
    X = np.random.default_rng(0).normal(size=(20, 2))
    one, other = (SVC().fit(X, X[:, column] > 0) for column in (0, 1))
    assert not is_dataclass(one)
    assert tokenize(one) != tokenize(other)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))


def test_annotations_say_what_validation_needs():
    assert Perceptron._parameter_constraints["shuffle"] == ["boolean"]
    for wrong in ({"shuffle": "no"}, {"random_state": "now"}, {"class_weight": "heavy"}):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"The '{name}' parameter of Perceptron must be"):
            Perceptron(**wrong).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.class_name in THEIRS], ids=lambda row: row.class_name
)
def test_parameters_and_defaults_are_those_of_scikit_learn(row):
    """What may be given by its place there may be so here."""
    theirs = inspect.signature(THEIRS[row.class_name]).parameters
    ours = inspect.signature(row.estimator).parameters
    assert theirs.keys() <= ours.keys()
    for name, parameter in theirs.items():
        # Probabilities of support vector machines are on their way out there, and stay here.
        assert ours[name].default == (False if name == "probability" else parameter.default), name
    placed, also = (
        [p.name for p in every.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        for every in (theirs, ours)
    )
    assert also[: len(placed)] == placed


# ---- parameters with another name ----------------------------------------------------------------


def test_old_names_work_and_warn():
    with pytest.warns(FutureWarning, match="Machine: 'eps' is now called 'tol'") as said:
        machine = Machine(eps=0.5)
    assert said[0].filename == __file__
    assert machine.tol == 0.5
    with pytest.warns(FutureWarning, match="Machine: 'width' is now called 'gamma'"):
        assert machine.set_params(width=3.0) is machine
    assert machine.gamma == 3.0
    assert not {"eps", "width"} & machine.get_params().keys()
    assert clone(machine).get_params() == machine.get_params()


def test_old_names_are_taken_only_where_they_were():
    with pytest.raises(TypeError, match="unexpected keyword argument 'eps'"):
        Base(eps=0.5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'seed'"):
        PenaltyRegressor(seed=1)


def test_files_may_have_old_names():
    assert current_names(Machine, {"eps": 0.5, "gamma": 2.0}) == {"tol": 0.5, "gamma": 2.0}
    assert current_names(Base, {"eps": 0.5}) == {"eps": 0.5}


def test_the_old_name_of_a_function_works_and_warns():
    X = np.linspace(0, 3, 20)[:, None]
    new = GP(X, np.sin(X[:, 0]), RBF(gamma=1.0), n_init=1)
    with pytest.warns(FutureWarning, match="GP: 'starts' is now called 'n_init'"):
        old = GP(X, np.sin(X[:, 0]), RBF(gamma=1.0), starts=1)
    np.testing.assert_array_equal(old.predict(X), new.predict(X))
    assert "starts" not in inspect.signature(GP).parameters

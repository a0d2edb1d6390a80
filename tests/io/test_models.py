"""A model that was saved and loaded is the same model: parameters, attributes, answers."""

import copy
import dataclasses
import math
import os
import stat
import subprocess
import sys
import time
import warnings
from enum import StrEnum

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import mercer
from mercer import (
    RBF,
    SVC,
    CannotSave,
    Constant,
    Expansion,
    FeatureMap,
    FunctionKernel,
    Kernel,
    Precomputed,
    RandomFourierFeatures,
)
from mercer._files import container
from mercer._files.fields import Plain
from mercer.estimators import registry as machines
from mercer.gram.expansion import Expansion as _Expansion
from mercer.io import model_classes
from mercer.io.model_classes import ROWS, find
from mercer.kernels import registry
from mercer.kernels.points import Points
from tests.estimators.cases import heart, iris
from tests.io.model_cases import CASES, TEXTS, answers, case
from tests.kernels.cases import COMPOSITES, EXAMPLES, IDS, RADIAL, data


def through_file(model, tmp_path, **record):
    path = tmp_path / "model.mercer"
    mercer.save(model, path, **record)
    return mercer.load(path)


def same(a, b, where="model"):
    """Assert that two things are equal in every part, types and the order in memory included."""
    if isinstance(a, StrEnum):  # a file has its text, which is equal to it
        a = str(a)
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        assert a.flags.c_contiguous == b.flags.c_contiguous, where
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif sparse.issparse(a):
        for part in ("data", "indices", "indptr"):
            same(getattr(a, part), getattr(b, part), f"{where}.{part}")
        assert a.shape == b.shape, where
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_freq=False)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (x, z) in enumerate(zip(a, b, strict=True)):
            same(x, z, f"{where}[{i}]")
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, Kernel):
        same(a.get_params(deep=False), b.get_params(deep=False), where)
    elif isinstance(a, Points):
        assert a.leaves.keys() == b.leaves.keys()
        same(list(map(vars_, a.leaves.values())), list(map(vars_, b.leaves.values())), where)
        same(a.ids, b.ids, where)
        assert a.dtype == b.dtype
    elif dataclasses.is_dataclass(a) or isinstance(a, _Expansion) or hasattr(a, "get_params"):
        same(vars_(a), vars_(b), where)
    elif isinstance(a, np.random.RandomState):
        same(a.get_state(), b.get_state(), where)
    elif hasattr(a, "equals"):
        assert a.equals(b), where
    else:
        assert a == b or (a != a and b != b), where


def vars_(value):
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return dict(sorted(vars(value).items()))


@pytest.mark.parametrize("name", CASES)
def test_models_come_back_the_same(name, tmp_path):
    model, X = case(name)
    loaded = through_file(model, tmp_path)
    for method, values in answers(model, X).items():
        same(values, answers(loaded, X)[method], method)
    if name not in ("svc pyarrow",):
        same(model, loaded)
    same(model.get_params(), loaded.get_params())
    shown = {n for n in dir(model) if n.endswith("_") and not n.startswith("_")}
    assert shown == {n for n in dir(loaded) if n.endswith("_") and not n.startswith("_")}


@pytest.mark.parametrize("name", ["svc binary", "svc ovr", "svc precomputed", "svc pandas"])
def test_what_is_computed_from_machines(name, tmp_path):
    model, X = case(name)
    loaded = through_file(model, tmp_path)
    for old, new in zip(model.machines_, loaded.machines_, strict=True):
        for promised in ("margin_", "slack_", "geometric_margins_", "free_", "bound_", "norm_"):
            same(getattr(old, promised), getattr(new, promised), promised)
        Z = np.arange(len(X)) if name == "svc precomputed" else X
        same(old.expansion_(Z), new.expansion_(Z))
        assert repr(old) == repr(new)
    assert repr(loaded.certificate_) == repr(model.certificate_)


def test_a_loaded_model_can_be_judged_cloned_and_fitted_again(tmp_path):
    X, y = heart()
    model = SVC(RBF()).fit(X, y)
    loaded = through_file(model, tmp_path)
    assert repr(mercer.certify(loaded, X, y)) == repr(mercer.certify(model, X, y))
    same(clone(loaded).fit(X, y).decision_function(X), model.decision_function(X))
    assert SVC(RBF()).fit(X, y, start=loaded).n_iter_[0] < model.n_iter_[0]
    loaded.intercept_ += 1.0
    loaded.support_vectors_[:] = 0.0


def test_parts_that_are_one_stay_one(tmp_path):
    model, _ = case("svc ovo")
    loaded = through_file(model, tmp_path)
    assert loaded._dual_coef_ is loaded.dual_coef_
    first, *others = loaded.machines_
    assert all(machine.points is first.points for machine in others)
    assert first.kernel is loaded.kernel_


@pytest.mark.parametrize("kernel", [kernel for _, kernel in EXAMPLES], ids=IDS)
def test_kernels(kernel, tmp_path):
    loaded = through_file(kernel, tmp_path)
    same(kernel, loaded)
    assert loaded == kernel


@pytest.mark.parametrize("kernel", COMPOSITES + RADIAL, ids=str)
def test_kernels_inside_machines(kernel, tmp_path):
    X = data("vectors", 24)
    y = np.arange(24) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of these kernels are not positive definite
        model = SVC(kernel).fit(X, y)
    loaded = through_file(model, tmp_path)
    same(model, loaded)
    same(model.decision_function(X), loaded.decision_function(X))


def test_every_kernel_of_the_registry_has_a_row():
    for row in registry.ROWS:
        for example in row.examples:
            assert find(example).cls is row.kernel
    assert len(set(ROWS)) == len({row.key for row in ROWS.values()})


@pytest.mark.parametrize("row", machines.ROWS, ids=lambda row: row.class_name)
def test_machines_of_the_registry(row, tmp_path):
    X, y = row.data()
    for machine in row.machines():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = machine.fit(X) if y is None else machine.fit(X, y)
        loaded = through_file(model, tmp_path)
        same(model, loaded)
        for method, values in answers(model, X).items():
            same(values, answers(loaded, X)[method], method)
        with pytest.raises(CannotSave, match=r"not in a state that can be saved"):
            mercer.save(broken(model), tmp_path / "broken.mercer")


def broken(model):
    """Return a copy in which an attribute that has to be an array or an object is a text."""
    twin = copy.copy(model)
    name = next(n for n, kind in model.STATE.items() if kind.required and kind != Plain())
    setattr(twin, name, "nothing")
    return twin


def test_names_of_older_files(tmp_path, monkeypatch):
    """An attribute that was renamed is found under its old name, of any class below its own."""
    model, X = case("svc binary")
    twin = copy.copy(model)
    twin.__dict__["_old_support"] = twin.__dict__.pop("support_")
    twin.__dict__["_old_waste"] = 7
    names = {"SupportVectorMachine": {"_old_support": "support_", "_old_waste": None}}
    with pytest.raises(CannotSave, match="support_ is missing"):
        mercer.save(twin, tmp_path / "old.mercer")
    monkeypatch.setattr(model_classes, "OLD_NAMES", names)
    loaded = through_file(twin, tmp_path)
    same(loaded.decision_function(X), model.decision_function(X))
    assert "_old_waste" not in vars(loaded)


def test_random_features_have_their_first_name_in_files(tmp_path):
    """Files of 0.1 say ``seed``, and so do those of today: either version reads the other's."""
    kernel = RandomFourierFeatures(RBF(gamma=0.5), 20, random_state=7)
    mercer.save(FeatureMap(kernel), tmp_path / "map.mercer")
    content = container.read(tmp_path / "map.mercer")
    states = [state for name, state in content.document["objects"] if "components" in state]
    assert [(sorted(state), state["seed"]) for state in states] == [
        (["components", "kernel", "seed"], 7)
    ]
    assert mercer.load(tmp_path / "map.mercer").kernel == kernel


def test_every_public_estimator_has_a_row():
    """A new estimator needs one row in ``mercer.estimators.registry``."""
    public = [getattr(mercer, name) for name in mercer.__all__]
    estimators = [
        c
        for c in public
        if isinstance(c, type)
        and issubclass(c, BaseEstimator)
        and not issubclass(c, GridSearchCV | mercer.Conformal)  # they go around a machine
    ]
    assert len(estimators) >= 7
    assert not [c for c in estimators if c.__name__ not in ROWS]


def test_a_deep_kernel(tmp_path):
    kernel = Constant(1.0)
    for i in range(200):
        kernel = kernel + RBF(gamma=0.1 + i / 100)
    X, y = iris()
    model = SVC(kernel).fit(X, y)
    same(through_file(model, tmp_path).decision_function(X), model.decision_function(X))
    for _ in range(100):
        kernel = 2.0 * kernel
    with pytest.raises(CannotSave, match="too deeply"):
        mercer.save(kernel, tmp_path / "deep.mercer")


def test_precomputed_kernels_and_expansions(tmp_path):
    X, _ = iris()
    kernel = Precomputed(X @ X.T)
    f = Expansion(kernel, np.array([3, 5, 9]), [1.0, -2.0, 0.5])
    loaded = through_file(f, tmp_path)
    same(f(np.arange(150)), loaded(np.arange(150)))
    g = Expansion(RBF(), X[:4], np.ones((4, 2)))
    same(through_file(g, tmp_path)(X), g(X))


def test_models_that_are_not_fitted(tmp_path):
    loaded = through_file(SVC(RBF(gamma=0.5), C=7.0, class_weight={"a": 2.0}), tmp_path)
    assert (loaded.C, loaded.kernel, loaded.class_weight) == (7.0, RBF(gamma=0.5), {"a": 2.0})
    with pytest.raises(NotFittedError):
        loaded.predict([[1.0]])


def test_a_search_is_saved_as_its_best_model(tmp_path):
    X, y = iris()
    search = GridSearchCV(SVC(), {"C": [0.1, 10.0]}, cv=3).fit(X, y)
    loaded = through_file(search, tmp_path)
    assert type(loaded) is SVC
    assert search.best_params_["C"] == loaded.C
    same(loaded.decision_function(X), search.decision_function(X))


def test_attributes_of_one_s_own_come_along(tmp_path):
    model = clone(case("svc binary")[0]).fit(*heart())
    model.note_ = {"who": "me", "when": (2026, 11), "curve": np.arange(3.0)}
    same(through_file(model, tmp_path).note_, model.note_)


# ---- records ---------------------------------------------------------------------------------


RECORD = {
    "scores": np.linspace(0, 1, 5, dtype=np.float32),
    "labels": np.array(["a", "é"]),
    "nested": [{"deep": (1, 2.5, None, True, "text")}, [], {}],
    "odd": [math.inf, -math.inf, math.nan, -0.0, 5e-324, 2**70],
    "long": list(range(100)),
    "flags": [True, False] * 20,
    "names": ["x"] * 30,
    3: "a number as key",
    "scalar": np.int16(7),
    "day": np.array(["2026-11-15", "NaT"], dtype="M8[D]"),
    "empty": np.empty((0, 3)),
}


def test_records_travel_with_models(tmp_path):
    path = tmp_path / "m.mercer"
    mercer.save(RBF(), path, record=RECORD)
    same(mercer.load_record(path), RECORD)
    assert mercer.load(path) == RBF()
    mercer.save(RBF(), path)
    assert mercer.load_record(path) is None


_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8"))
)
_PLAIN = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=20)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=30,
)


@given(_PLAIN)
def test_any_plain_record(tmp_path_factory, record):
    path = tmp_path_factory.getbasetemp() / "record.mercer"
    mercer.save(RBF(), path, record=record)
    same(mercer.load_record(path), record)


# ---- what cannot be saved --------------------------------------------------------------------


class OwnKernel(mercer.RBF):
    pass


class OwnMachine(SVC):
    pass


def looped():
    record = {}
    record["self"] = [record]
    return record


@pytest.mark.parametrize(
    ("model", "record", "message"),
    [
        (lambda: SVC(lambda X, Z: X @ Z.T), None, r"SVC.params\['kernel'\]: a function cannot be"),
        (lambda: FunctionKernel(math.dist), None, "kernel='precomputed'"),
        (lambda: 2 * FunctionKernel(math.dist) + RBF(), None, "never code"),
        (lambda: OwnKernel(), None, "class of your own, OwnKernel"),
        (lambda: OwnMachine(), None, "class OwnMachine cannot be saved"),
        (lambda: make_pipeline(FunctionTransformer(), SVC()), None, "FunctionTransformer"),
        (lambda: Pipeline([("p", make_pipeline(SVC()))]), None, "a step is a Pipeline"),
        (lambda: SVC(C=-1.0), None, "'C' parameter of SVC"),
        (lambda: None, None, "the model is not an object"),
        (lambda: RBF(), {"a": object()}, r"record\['a'\]: an object of the class object"),
        (lambda: RBF(), np.array([1j]), "complex128"),
        (lambda: RBF(), np.array([{}], dtype=object), "Python objects"),
        (lambda: RBF(), np.array([b"x"]), "S1"),
        (lambda: RBF(), "\ud800", "UTF-8"),
        (lambda: RBF(), np.array(["\ud800"]), "UTF-8"),
        (lambda: RBF(), looped(), "contain themselves"),
    ],
)
def test_what_cannot_be_saved(model, record, message, tmp_path):
    path = tmp_path / "m.mercer"
    mercer.save(RBF(gamma=0.5), path)
    with pytest.raises(CannotSave, match=message):
        mercer.save(model(), path, record=record)
    assert mercer.load(path) == RBF(gamma=0.5)
    assert os.listdir(tmp_path) == ["m.mercer"]


def test_a_broken_model_is_not_saved(tmp_path):
    X, y = iris()
    model = SVC().fit(X, y)
    model.support_ = model.support_ + 10_000
    with pytest.raises(CannotSave, match="none of its training rows"):
        mercer.save(model, tmp_path / "m.mercer")
    assert not os.listdir(tmp_path)


def test_a_pipeline_forgets_its_cache(tmp_path):
    model = make_pipeline(StandardScaler(), SVC(), memory=str(tmp_path / "cache"))
    assert through_file(model, tmp_path).memory is None


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model, _ = case("svc pandas")
    mercer.save(model, tmp_path / "a")
    mercer.save(mercer.load(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_fresh_process_without_the_libraries_of_the_fit(tmp_path):
    """What was saved here predicts the same there; a frame comes in any library there is."""
    for name in ("svc ovo", "svc pandas"):
        mercer.save(case(name)[0], tmp_path / name)
    model, X = case("svc ovo")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('pandas', 'polars', 'pyarrow')))\n"
        "import mercer, numpy\n"
        "f = mercer.load('svc ovo').decision_function(numpy.load('X.npy'))\n"
        "numpy.save('f.npy', f)\n"
        "assert sorted(mercer.load('svc pandas').support_vectors_)[:2] == ['age', 'bmi']\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path)
    same(np.load(tmp_path / "f.npy"), model.decision_function(X))


def test_a_frame_of_another_library(tmp_path, monkeypatch):
    model, _ = case("svc pandas")
    mercer.save(model, tmp_path / "m")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert type(mercer.load(tmp_path / "m").support_vectors_).__module__.startswith("polars")


SAVER = """
import itertools, mercer
model = mercer.load("model")
for i in itertools.count():
    mercer.save(model, "model", record=[i] * 50_000)
    if i == 0:
        print("ready", flush=True)
"""


def test_a_killed_process_leaves_a_whole_file(tmp_path):
    """Killed in the midst of saving: what is there is a whole model, the old one or the new."""
    model, X = case("svc ovo")
    mercer.save(model, tmp_path / "model", record=[-1])
    command = [sys.executable, "-c", SAVER]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.02)
    process.kill()
    process.communicate()
    same(mercer.load(tmp_path / "model").decision_function(X), model.decision_function(X))
    assert len(set(mercer.load_record(tmp_path / "model"))) == 1


def test_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mercer.save(RBF(), "plain")
    assert mercer.load("plain") == mercer.load(tmp_path / "plain") == RBF()
    os.symlink("plain", "link")
    mercer.save(RBF(gamma=2.0), "link")
    assert os.path.islink("link")
    assert mercer.load("plain") == mercer.load("link") == RBF(gamma=2.0)
    assert not stat.S_IMODE(os.stat("plain").st_mode) & 0o111
    with pytest.raises(IsADirectoryError):
        mercer.save(RBF(), tmp_path)
    with pytest.raises(FileNotFoundError):
        mercer.save(RBF(), tmp_path / "no" / "folder")


def test_texts_of_support_vectors(tmp_path):
    model, _ = case("svc texts")
    assert through_file(model, tmp_path).support_vectors_ == model.support_vectors_
    assert set(model.support_vectors_) <= set(TEXTS)

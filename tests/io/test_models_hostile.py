"""Files that nobody should trust: each gives one clear error, soon, and takes little memory."""

import copy
import os
import re
import resource
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import RBF, InvalidModelFile
from mercer._files import container
from mercer._files.container import Content
from mercer._files.fields import WrongState
from mercer.exceptions import MercerError
from tests.io.model_cases import case


def load_bytes(data, tmp_path, seconds=2.0):
    path = tmp_path / "m.mercer"
    path.write_bytes(data)
    started = time.process_time()
    try:
        return mercer.load(path)
    finally:
        assert time.process_time() - started < seconds


def content_of(model, tmp_path, record=None):
    mercer.save(model, tmp_path / "whole.mercer", record=record)
    found = container.read(tmp_path / "whole.mercer")
    return Content(copy.deepcopy(found.document), list(found.arrays))


def refused(document, arrays, tmp_path, message=None):
    """Write what nobody checked, with a right checksum, and see that it is refused."""
    data = container.to_bytes(Content(document, arrays))
    with pytest.raises(InvalidModelFile, match=message) as caught:
        load_bytes(data, tmp_path)
    assert "\n" not in str(caught.value)


def document(objects, model=None, record=None):
    last = {"object": len(objects) - 1} if model is None else model
    return {"mercer": "0", "objects": objects, "model": last, "record": record}


# ---- the file as such ------------------------------------------------------------------------


def test_every_truncation(tmp_path):
    mercer.save(RBF(), tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    for length in range(len(whole)):
        with pytest.raises(InvalidModelFile):
            load_bytes(whole[:length], tmp_path)
    with pytest.raises(InvalidModelFile, match="should have"):
        load_bytes(whole + b"\0", tmp_path)


def test_every_flipped_bit(tmp_path):
    mercer.save(RBF(gamma=0.5), tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    for at in range(len(whole)):
        for bit in (1, 128):
            data = bytearray(whole)
            data[at] ^= bit
            with pytest.raises(InvalidModelFile):
                container.parse(np.frombuffer(bytes(data), dtype=np.uint8))


def test_other_versions(tmp_path):
    mercer.save(RBF(), tmp_path / "m")
    data = bytearray((tmp_path / "m").read_bytes())
    data[8] = 2
    with pytest.raises(InvalidModelFile, match=r"version 2 of the format.*reads version 1"):
        load_bytes(bytes(data), tmp_path)


@pytest.mark.parametrize("name", ["", "missing", "folder", "pipe", "loop", "nul\0", "/dev/zero"])
def test_paths_that_are_no_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("folder")
    os.mkfifo("pipe")
    os.symlink("loop", "loop")
    with pytest.raises(InvalidModelFile):
        mercer.load(name)


@pytest.mark.parametrize("data", [b"", b"\x80\x04K\x01.", b"PK\x03\x04" + bytes(100), bytes(10**7)])
def test_other_files(data, tmp_path):
    with pytest.raises(InvalidModelFile, match="no model file"):
        load_bytes(data, tmp_path)


def test_a_huge_file_of_holes_is_not_read(tmp_path):
    path = tmp_path / "holes"
    with open(path, "wb") as file:
        file.truncate(1 << 38)
    tracemalloc.start()
    with pytest.raises(InvalidModelFile):
        mercer.load(path)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def raw(text, arrays=b""):
    """Return a file with any bytes as its text, and a right checksum."""
    whole = container.to_bytes(Content(None, []))
    gap = bytes(-(64 + len(text)) % 64) if arrays else b""
    start = whole[:16] + len(text).to_bytes(8, "little")
    start += (64 + len(text) + len(gap) + len(arrays)).to_bytes(8, "little")
    body = text + gap + arrays
    digest = container._digest(np.frombuffer(start + bytes(32) + body, dtype=np.uint8))
    return start + digest + body


TEXTS = {
    "empty": b"",
    "not UTF-8": b'{"arrays":[],"document":"\xff"}',
    "not JSON": b"{arrays}",
    "a number": b"1",
    "another name": b'{"arrays":[],"document":1,"more":1}',
    "a name twice": b'{"arrays":[],"arrays":[],"document":1}',
    "a name twice inside": b'{"arrays":[],"document":{"a":1,"a":2}}',
    "NaN": b'{"arrays":[],"document":NaN}',
    "deep": b'{"arrays":[],"document":' + b"[" * 10**5 + b"]" * 10**5 + b"}",
    "deep objects": b'{"arrays":[],"document":' + b'{"a":' * 10**5 + b"1" + b"}" * 10**5 + b"}",
    "a long number": b'{"arrays":[],"document":' + b"9" * 10**6 + b"}",
    "many values": b'{"arrays":[],"document":[' + b"{}," * 10**6 + b"{}]}",
    "a table that is no list": b'{"arrays":{},"document":1}',
    "an endless float": b'{"arrays":[],"document":{"mercer":"0","objects":[],"record":null,'
    b'"model":{"tuple":[1e999]}}}',
}
ROWS = {
    "object type": '["object",[2],"C"]',
    "text type": '["<U8",[1],"C"]',
    "record type": '["f8,i4",[1],"C"]',
    "a huge shape": '["float64",[1099511627776,1099511627776],"C"]',
    "an overflowing shape": '["float64",[4294967296,4294967296,1099511627776],"C"]',
    "a negative shape": '["float64",[-1],"C"]',
    "two negative lengths": '["float64",[-4,-4],"C"]',
    "a float as length": '["float64",[2.0],"C"]',
    "a truth as length": '["float64",[true],"C"]',
    "many dimensions": '["float64",[1,1,1,1,1,1,1,1,1],"C"]',
    "more than there is": '["float64",[17],"C"]',
    "less than there is": '["float64",[15],"C"]',
    "order": '["float64",[16],"K"]',
    "order as list": '["float64",[16],["C"]]',
    "no order": '["float64",[16]]',
    "no row": "7",
    "bad truths": '["bool",[128],"C"]',
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name, tmp_path):
    with pytest.raises(InvalidModelFile):
        load_bytes(raw(TEXTS[name]), tmp_path)


@pytest.mark.parametrize("name", ROWS)
def test_tables_of_arrays(name, tmp_path):
    text = f'{{"arrays":[{ROWS[name]}],"document":1}}'.encode()
    with pytest.raises(InvalidModelFile, match=r"array|bytes"):
        load_bytes(raw(text, b"\x02" * 128), tmp_path)


def test_bytes_between_arrays_and_after_them(tmp_path):
    text = b'{"arrays":[["int8",[1],"C"],["int8",[1],"C"]],"document":1}'
    good = bytes([1]) + bytes(63) + bytes([1])
    with pytest.raises(InvalidModelFile, match="no model"):
        load_bytes(raw(text, good), tmp_path)
    with pytest.raises(InvalidModelFile, match="between its arrays"):
        load_bytes(raw(text, bytes([1, 1]) + bytes(62) + bytes([1])), tmp_path)
    with pytest.raises(InvalidModelFile, match="belong to no array"):
        load_bytes(raw(text, good + b"\0"), tmp_path)


# ---- what it says ----------------------------------------------------------------------------


OBJECTS = {
    "no class": [["os.system", {}]],
    "a class of Python": [["type", {}]],
    "a function kernel": [["FunctionKernel", {"function": "os.system"}]],
    "no state": [["RBF"]],
    "a state that is a list": [["RBF", []]],
    "a class that is a list": [[["RBF"], {}]],
    "no object": [5],
    "itself": [["Scaled", {"kernel": {"object": 0}, "factor": 1.0}]],
    "a later object": [["Scaled", {"kernel": {"object": 1}, "factor": 1.0}], ["RBF", {}]],
    "an object of negative number": [["RBF", {}], ["Exp", {"kernel": {"object": -1}}]],
    "an object of true": [["RBF", {}], ["RBF", {}], ["Exp", {"kernel": {"object": True}}]],
    "an array that is not there": [["Precomputed", {"matrix": {"array": 0}}]],
    "a parameter too many": [["RBF", {"gamma": 1.0, "more": 1}]],
    "a parameter that is no name": [["RBF", {"__class__": 1}]],
    "an impossible parameter": [["RBF", {"gamma": -1.0}]],
    "a parameter of another kind": [["RBF", {"gamma": [1, 2]}]],
    "a child that is a number": [["Sum", {"left": 1, "right": 2}]],
    "columns that are none": [["RBF", {}], ["On", {"kernel": {"object": 0}, "columns": None}]],
    "unhashable columns": [["RBF", {}], ["On", {"kernel": {"object": 0}, "columns": [[1]]}]],
    "a number beyond floats": [["Constant", {"value": 10**400}]],
    "two forms": [["RBF", {"gamma": {"float": "inf", "tuple": []}}]],
    "an unknown form": [["RBF", {"gamma": {"code": "1"}}]],
    "an odd float": [["Constant", {"value": {"float": "1e5"}}]],
    "an infinite parameter": [["Constant", {"value": {"float": "inf"}}]],
    "a dictionary of triples": [["SVC", {"params": {"dict": [[1, 2, 3]]}}]],
    "a key twice": [["SVC", {"params": {"dict": [["C", 1.0], ["C", 2.0]]}}]],
    "a key that is a list": [["SVC", {"params": {"dict": [[[1], 2]]}}]],
    "a key with a list inside": [["SVC", {"params": {"dict": [[{"tuple": [[1]]}, 2]]}}]],
    "a set of lists": [["SVC", {"params": {"dict": [["C", {"set": [[1]]}]]}}]],
    "an item twice": [["SVC", {"params": {"dict": [["C", {"set": [1, 1]}]]}}]],
    "a set that is a number": [["SVC", {"params": {"dict": [["C", {"frozenset": 1}]]}}]],
    "an unknown parameter": [["SVC", {"params": {"dict": [["magic", 1]]}}]],
    "a parameter out of range": [["SVC", {"params": {"dict": [["C", -1.0]]}}]],
    "an unknown kernel": [["SVC", {"params": {"dict": [["kernel", "__import__"]]}}]],
    "half a fit": [["SVC", {"params": {"dict": []}, "classes_": 1}]],
    "no parameters": [["SVC", {}]],
    "a method": [["StandardScaler", {"params": {"dict": []}, "transform": 1}]],
    "a pipeline of texts": [["Pipeline", {"steps": [{"tuple": ["a", "b"]}], "verbose": False}]],
    "an empty pipeline": [["Pipeline", {"steps": [], "verbose": False}]],
    "a pipeline with a cache": [
        ["SVC", {"params": {"dict": []}}],
        ["Pipeline", {"steps": [{"tuple": ["a", {"object": 0}]}], "verbose": False, "memory": "x"}],
    ],
    "a pattern of great length": [["BagOfWords", {"pattern": "(a|b)" * 10**5}]],
    "a broken pattern": [["BagOfWords", {"pattern": "(" * 500}]],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects(name, tmp_path):
    refused(document(OBJECTS[name]), [], tmp_path)


def test_models_that_are_no_objects(tmp_path):
    for model in (None, 5, "RBF", [1], {"object": 3}, {"tuple": []}, {"x": 1}, {"array": 0}):
        refused({**document([["RBF", {}]]), "model": model}, [np.zeros(3)], tmp_path)
    for top in (None, [], {}, {"objects": []}):
        refused(top, [], tmp_path, "no model")
    refused({**document([]), "objects": {}}, [], tmp_path)


def test_bombs_of_shared_objects(tmp_path):
    """Each level refers twice to the one below: 2^n parts in n lines."""
    doubling = [["RBF", {"gamma": 1.0}]]
    doubling += [["Sum", {"left": {"object": i}, "right": {"object": i}}] for i in range(60)]
    refused(document(doubling), [], tmp_path, "too many parts")
    chain = [["RBF", {"gamma": 1.0}]]
    chain += [["Exp", {"kernel": {"object": i}}] for i in range(50_000)]
    refused(document(chain), [], tmp_path, "too deeply")
    wide = doubling[:12] + [["Exp", {"kernel": {"object": 11}}] for _ in range(10_000)]
    refused(document(wide), [], tmp_path, "too often")


def test_bombs_of_shared_arrays(tmp_path):
    """One array, looked at twenty thousand times."""
    matrix = np.eye(300)
    many = [["Precomputed", {"matrix": {"array": 0}}] for _ in range(20_000)]
    refused(document(many), [matrix], tmp_path, "again and again")
    lists = {"tuple": [{"list": 0}] * 1000}
    refused(document([["RBF", {}]], record=lists, model=lists), [np.zeros(10**5)], tmp_path)


def test_a_bomb_of_wide_texts(tmp_path):
    """Many empty texts and a long one: an array of fixed width would take a terabyte."""
    letters = np.zeros(10**6, dtype=np.uint8) + 97
    ends = np.zeros(10**6, dtype=np.int64)
    ends[-1] = 10**6
    texts = ["texts", {"letters": {"array": 0}, "ends": {"array": 1}, "type": "U"}]
    texts[1]["shape"] = {"tuple": [10**6]}
    refused(document([texts]), [letters, ends], tmp_path, "differ too much")


def test_texts_with_wrong_ends(tmp_path):
    letters = np.frombuffer("aé".encode(), dtype=np.uint8)
    state = {"letters": {"array": 0}, "ends": {"array": 1}, "type": "O", "shape": {"tuple": [2]}}
    for ends in ([1, 2], [2, 3], [3, 1], [1, 4], [-1, 3], [1, 2**62], [1]):
        refused(document([["texts", state]]), [letters, np.array(ends)], tmp_path)
    good = container.to_bytes(Content(document([["texts", state]]), [letters, np.array([1, 3])]))
    assert load_bytes(good, tmp_path).tolist() == ["a", "é"]


def changed(content, cls, field, change, number=0):
    """Change an array of an object, named by class and field; return what to write."""
    document, arrays = copy.deepcopy(content.document), list(content.arrays)
    entry = [entry for entry in document["objects"] if entry[0] == cls][number]
    at = entry[1][field]["array"]
    arrays[at] = change(np.array(arrays[at]))
    return document, arrays


def put(index, value):
    def change(array):
        array[index] = value
        return array

    return change


ARRAYS = {
    "support beyond the rows": ("svc ovo", "SVC", "support_", put(0, 10**6)),
    "negative support": ("svc ovo", "SVC", "support_", put(0, -1)),
    "support of another length": ("svc ovo", "SVC", "support_", lambda a: a[:-1]),
    "codes beyond the classes": ("svc ovo", "SVC", "_support_codes", put(-1, 3)),
    "codes in disorder": ("svc ovo", "SVC", "_support_codes", lambda a: a[::-1].copy()),
    "wrong counts": ("svc ovo", "SVC", "_n_support", put(0, 1)),
    "negative counts": ("svc ovo", "SVC", "_n_support", put(0, -5)),
    "NaN coefficient": ("svc ovo", "SVC", "dual_coef_", put((0, 0), np.nan)),
    "infinite bias": ("svc ovo", "SVC", "intercept_", put(0, np.inf)),
    "too few biases": ("svc ovo", "SVC", "intercept_", lambda a: a[:2]),
    "coefficients transposed": ("svc ovo", "SVC", "dual_coef_", lambda a: a.T.copy()),
    "coefficients as integers": ("svc ovo", "SVC", "dual_coef_", lambda a: a.astype(int)),
    "a class less": ("svc ovo", "SVC", "classes_", lambda a: a[:2]),
    "a class twice": ("svc ovo", "SVC", "classes_", put(0, 1)),
    "classes in a table": ("svc ovo", "SVC", "classes_", lambda a: a.reshape(3, 1)),
    "NaN data": ("svc ovo", "Vectors", "values", put((0, 0), np.nan)),
    "data in another order": ("svc ovo", "Vectors", "values", np.asfortranarray),
    "flat data": ("svc ovo", "Vectors", "values", np.ravel),
    "half precision": ("svc ovo", "Vectors", "values", lambda a: a.astype(np.float16)),
    "another number of columns": ("svc ovo", "Vectors", "values", lambda a: a[:, :3].copy(), 1),
    "ids of another length": ("svc ovo", "Points", "ids", lambda a: a[1:]),
    "rows beyond the points": ("svc ovo", "BinaryMachine", "rows", put(0, 150)),
    "negative rows": ("svc ovo", "BinaryMachine", "rows", put(0, -1)),
    "signs of another length": ("svc ovo", "BinaryMachine", "signs", lambda a: a[1:]),
    "negative histograms": ("svc histograms", "Vectors", "values", put((0, 0), -1.0)),
    "matrix not square": ("svc precomputed", "Precomputed", "matrix", lambda a: a[1:]),
    "another matrix": ("svc precomputed", "Precomputed", "matrix", lambda a: a[1:, 1:].copy()),
    "row number beyond": ("svc precomputed", "Objects", "items", put(0, 150)),
    "negative row number": ("svc precomputed", "Objects", "items", put(0, -1)),
    "column beyond": ("svc sparse", "csr_matrix", "indices", put(0, 10**6)),
    "negative column": ("svc sparse", "csr_matrix", "indices", put(0, -1)),
    "ends in disorder": ("svc sparse", "csr_matrix", "ends", put(1, 10**6)),
    "ends from one": ("svc sparse", "csr_matrix", "ends", put(0, 1)),
    "NaN entry": ("svc sparse", "csr_matrix", "data", put(0, np.nan)),
    "entries missing": ("svc sparse", "csr_matrix", "data", lambda a: a[1:]),
    "codes of 32 bits": ("svc pandas", "Categories", "codes", lambda a: a.astype(np.uint32)),
    "no categories": ("svc pandas", "Categories", "codes", lambda a: a[:, :0]),
    "weights of another shape": ("linear svc", "LinearSVC", "coef_", lambda a: a[:, :2]),
    "weights of one class": ("linear svc", "LinearSVC", "coef_", lambda a: a[:1]),
    "NaN weight": ("linear svc", "LinearSVC", "coef_", put((0, 0), np.nan)),
    "multipliers that are infinite": ("svr", "SVR", "multipliers_", put(0, np.inf)),
    "expansion of another length": ("svr", "Expansion", "coefficients", lambda a: a[1:]),
    "landmarks without a column": ("nusvr landmarks", "Expansion", "coefficients", np.ravel),
    "offset of two": ("one class", "OneClassSVM", "offset_", lambda a: np.append(a, a)),
    "scale of another length": ("pipeline", "StandardScaler", "scale_", lambda a: a[1:]),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name, tmp_path):
    of, cls, field, change, *number = ARRAYS[name]
    content = content_of(case(of)[0], tmp_path)
    refused(*changed(content, cls, field, change, *number), tmp_path)
    same = changed(content, cls, field, lambda array: array, *number)
    load_bytes(container.to_bytes(Content(*same)), tmp_path)


def test_steps_before_the_last_transform(tmp_path):
    content = content_of(case("pipeline")[0], tmp_path)
    steps = next(e for e in content.document["objects"] if e[0] == "Pipeline")[1]["steps"]
    first, last = (step["tuple"] for step in steps)
    first[1] = last[1]
    message = "a step before the last is a SVC"
    refused(content.document, content.arrays, tmp_path, message)


def test_discriminants_that_centre_have_a_mean(tmp_path):
    """Other solvers have none, so that a changed name of the solver asks for it."""
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    model = mercer.LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    model.solver = "svd"
    with pytest.raises(WrongState, match="no mean of all rows"):
        model.check_state()


def test_covariances_of_half_precision(tmp_path):
    model = mercer.GaussianMixture(2, random_state=0).fit(np.arange(20.0).reshape(10, 2))
    content = content_of(model, tmp_path)
    half = changed(content, "GaussianMixture", "covariances_", lambda a: a.astype(np.float16))
    refused(*half, tmp_path, "half precision")


def test_points_of_another_kernel(tmp_path):
    content = content_of(case("svc ovo")[0], tmp_path)
    entry = next(e for e in content.document["objects"] if e[0] == "VectorEncoder")
    entry[1]["nonnegative"] = True
    refused(content.document, content.arrays, tmp_path)
    entry[:] = ["CategoryEncoder", {}]
    refused(content.document, content.arrays, tmp_path, "not what a CategoryEncoder makes")


def test_attributes_that_would_hide_methods(tmp_path):
    for name in ("predict", "_functions", "__class__", "__dict__", "_monitor", "fit", "a b", ""):
        content = content_of(case("svc ovo")[0], tmp_path)
        entry = next(e for e in content.document["objects"] if e[0] == "SVC")
        entry[1][name] = 1
        refused(content.document, content.arrays, tmp_path, "cannot have the attribute")


def test_attributes_that_would_pass_for_methods(tmp_path):
    """A pipeline asks whether there is one, and would call a number."""
    content = content_of(case("kernel pca")[0], tmp_path)
    entry = next(e for e in content.document["objects"] if e[0] == "KernelPCA")
    entry[1]["predict"] = 1
    refused(content.document, content.arrays, tmp_path, "cannot have the attribute 'predict'")


def test_random_states_outside_their_range(tmp_path):
    content = content_of(case("svc weights")[0], tmp_path)
    entry = next(e for e in content.document["objects"] if e[0] == "RandomState")
    for at in (-1, 625, 10**30, 1.0):
        entry[1]["at"] = at
        refused(content.document, content.arrays, tmp_path)


def test_memory_is_bounded(tmp_path):
    """A good file of 40 MB takes a few times its size, in a process with a limit."""
    path = tmp_path / "m.mercer"
    mercer.save(RBF(), path, record=np.ones(5 * 10**6))
    tracemalloc.start()
    mercer.load_record(path)
    assert tracemalloc.get_traced_memory()[1] < 1.5 * os.path.getsize(path)
    tracemalloc.stop()


BOMBS = """
import resource, sys, time, mercer
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400_000_000,) * 2)
for path in sys.argv[1:]:
    started = time.process_time()
    try:
        mercer.load(path)
        print("loaded", path)
    except mercer.InvalidModelFile:
        pass
    assert time.process_time() - started < 2, path
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="the system has no such limit")
def test_bombs_in_a_process_with_little_memory(tmp_path):
    huge = [f'{{"arrays":[{ROWS[n]}],"document":1}}'.encode() for n in ROWS if "shape" in n]
    bombs = [*TEXTS.values(), *huge]
    paths = []
    for number, text in enumerate(bombs):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(raw(text, b"\x02" * 128))
    run = subprocess.run(
        [sys.executable, "-c", "import mercer.io.model_classes\n" + BOMBS, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == ""


def test_errors_are_one_line_with_the_path(tmp_path):
    path = tmp_path / "m.mercer"
    path.write_bytes(b"hello")
    with pytest.raises(MercerError, match=re.escape(str(path))) as caught:
        mercer.load(path)
    assert "\n" not in str(caught.value)


def test_a_scaler_of_a_table_without_the_names_of_its_columns(tmp_path):
    scaler = mercer.NumericScaler().fit(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]}))
    for names in (None, np.array(["a"], dtype=object)):
        broken = copy.copy(scaler)
        del broken.feature_names_in_
        if names is not None:
            broken.feature_names_in_ = names
        with pytest.raises(WrongState, match="has not the names of its columns"):
            broken.check_state()

"""Change model files at random and see that nothing worse happens than a clear error.

Some changes are raw (bits, cuts, splices) and have to be noticed. Others mend the checksum, so that
they reach the checks behind it: then either the file is refused, or the model that comes out of it
answers or refuses new data without a crash. Run by the million with

    python -m tests.io.model_fuzz --mutations 1000000 --every-kind

and repeat one of them with ``--only NUMBER`` and the same ``--seed``. A run goes on after a finding
and prints each.
"""

import argparse
import copy
import json
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings

import numpy as np

import mercer
from mercer._files import container
from mercer._files.container import Content
from mercer.exceptions import CannotSave, InvalidModelFile, MercerError
from mercer.io import models
from tests.attack.machines import MACHINES, fit, make
from tests.io.model_cases import CASES, answers, case

SEEDS = (
    *("svc binary", "svc ovo", "svc ovr", "svc crammer-singer", "svc probability, three"),
    *("svc sparse", "svc precomputed", "svc pandas", "svc texts", "svc histograms", "labels text"),
    *("svc noise", "nusvc", "svr", "nusvr", "one class", "linear svc", "linear svr", "pipeline"),
    "pipeline numeric frame",
)
SECONDS = 2.0
MEMORY = 200_000_000
"""Bytes that loading a file and asking the model may take besides those of the process."""
MOST_FINDINGS = 50
"""A run that has as many has shown enough."""
STEP = 50_000
"""Mutations after which a long run says how far it is."""
RECORD = {"curve": np.linspace(0, 1, 7), "names": np.array(["a", "bc"]), "n": [1, 2.5, None]}

NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 255, 2**31, -(2**31), 2**53, 2**62, 2**63, 10**30, 10**400),
    *(0.5, -0.0, 1e-300, 1e300, 5e-324, -1.5),
)
VALUES = (
    *(None, True, False, "", "scale", "C", "F", "x" * 5000, "\0", "é", "ovo", "ovr", "precomputed"),
    *([], {}, [[]], {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": []}, {"list": 0}),
    *(
        {"set": []},
        {"set": [1, 1]},
        {"frozenset": [{"tuple": [[]]}]},
        {"dict": [[{"tuple": []}, 0]]},
    ),
)
ENTRIES = (0, 1, -1, 2, 150, 2**31 - 1, -(2**31), 2**62, np.nan, np.inf, -np.inf, 1e300, 1e-300)
TYPES = tuple(container.TYPES)


# ---- raw changes: the checksum has to notice them --------------------------------------------


def flip(random, data, other):
    for _ in range(random.integers(1, 4)):
        data[random.integers(len(data))] ^= 1 << int(random.integers(8))


def cut(random, data, other):
    del data[random.integers(len(data)) :]


def delete(random, data, other):
    start = int(random.integers(len(data)))
    del data[start : start + int(random.integers(1, 100))]


def insert(random, data, other):
    start = int(random.integers(len(data)))
    data[start:start] = random.bytes(int(random.integers(1, 100)))


def splice(random, data, other):
    at = int(random.integers(min(len(data), len(other))))
    data[at:] = other[at:]


def overwrite(random, data, other):
    start, length = int(random.integers(len(data))), int(random.integers(1, 64))
    data[start : start + length] = bytes([int(random.integers(256))]) * length


RAW = (flip, cut, delete, insert, splice, overwrite)


def mend(data):
    """Give changed bytes the right length and checksum."""
    if len(data) >= 64:
        data[24:32] = len(data).to_bytes(8, "little")
        data[32:64] = container._digest(np.frombuffer(data, dtype=np.uint8))


# ---- changes of what the file says -----------------------------------------------------------


def paths(value, at=()):
    """Return the keys that lead to every part of a JSON value, the whole first."""
    found = [at]
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            found += paths(item, (*at, key))
    return found


def part(value, path):
    for key in path:
        if isinstance(value, str):
            raise TypeError("a letter is no part")
        value = value[key]
    return value


def change_value(random, value, known):
    """Return a value with a change at one of the known paths; what is not changed is shared."""
    path = known[random.integers(len(known))]
    try:
        old = part(value, path)
        other = part(value, known[random.integers(len(known))])
    except (KeyError, IndexError, TypeError):  # an earlier change took it away
        return value
    choice = random.integers(5)
    if choice == 0 or (isinstance(old, int | float) and choice < 4):
        return _with(value, path, _number(random, old))
    if choice == 1:
        return _with(value, path, VALUES[random.integers(len(VALUES))])
    if choice == 2 or not path:
        return _with(value, path, other)
    *above, key = path
    holder = copy.copy(part(value, above))
    if choice == 3:
        del holder[key]
    elif isinstance(holder, dict):
        holder[str(random.choice(["a", "predict", "_machines", "C", "array", "object"]))] = old
    else:
        holder.insert(key, old)
    return _with(value, above, holder)


def _with(value, path, new):
    """Return a value with another part at a path: copies along the path, and nothing else."""
    if not path:
        return new
    key, *rest = path
    value = copy.copy(value)
    value[key] = _with(value[key], rest, new)
    return value


def _number(random, old):
    if isinstance(old, int | float) and random.random() < 0.5:
        return old + int(random.integers(-3, 4)) if random.random() < 0.7 else -old
    return NUMBERS[random.integers(len(NUMBERS))]


def change_array(random, arrays):
    """Change one of the arrays of a list."""
    number = int(random.integers(len(arrays)))
    array = np.array(arrays[number])
    choice = random.integers(7)
    with np.errstate(all="ignore"):
        if choice <= 2 and array.size:
            index = int(random.integers(array.size))
            value = ENTRIES[random.integers(len(ENTRIES))]
            array.reshape(-1)[index] = np.array(value).astype(array.dtype)
        elif choice == 3:
            array = array.astype(TYPES[random.integers(len(TYPES))])
        elif choice == 4 and array.ndim:
            array = array[int(random.integers(2)) : len(array) - int(random.integers(3))]
        elif choice == 5:
            array = array.T if random.random() < 0.5 else array.reshape(-1)
        else:
            array = arrays[random.integers(len(arrays))]
    arrays[number] = array


class Whole:
    """A file as it was written, taken apart so that changed ones are put together quickly."""

    def __init__(self, name, data, X, expected):
        self.name, self.data, self.X, self.expected = name, data, X, expected
        self.arrays = container.parse(np.frombuffer(data, dtype=np.uint8)).arrays
        length = int.from_bytes(data[16:24], "little")
        top = json.loads(data[64 : 64 + length])
        self.table, self.document = top["arrays"], top["document"]
        self.table_paths, self.document_paths = paths(self.table), paths(self.document)
        self.body = data[-(-(64 + length) // 64) * 64 :]  # arrays begin at a multiple of 64
        self.texts = {id(each): _text(each) for each in self.document["objects"]}

    def with_text(self, table, document, padded=True):
        """Return the bytes of a file with these texts and the arrays as they were."""
        text = b'{"arrays":%b,"document":%b}' % (_text(table), self._described(document))
        if padded and self.body:
            text = text.ljust(-(-len(text) // 64) * 64)
        start = container.MAGIC + container.VERSION.to_bytes(8, "little")
        data = bytearray(start + len(text).to_bytes(8, "little") + bytes(40) + text + self.body)
        mend(data)
        return data

    def _described(self, document):
        """Return the text of a document; most of its objects are as they were."""
        if not isinstance(document, dict) or not isinstance(document.get("objects"), list):
            return _text(document)
        objects = b",".join(self.texts.get(id(o)) or _text(o) for o in document["objects"])
        others = _text({key: document[key] for key in document if key != "objects"})
        comma = b"," if len(document) > 1 else b""
        return b'{"objects":[%b]%b%b' % (objects, comma, others[1:])


def _text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def edited(random, whole):
    """Return the bytes of a file with changed values, and a right checksum."""
    document, arrays = whole.document, None
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        if random.random() < 0.6:
            document = change_value(random, document, whole.document_paths)
        elif whole.arrays:
            arrays = arrays or list(whole.arrays)
            change_array(random, arrays)
    if arrays is None:
        return whole.with_text(whole.table, document)
    return bytearray(container.to_bytes(Content(document, arrays)))


def edited_table(random, whole):
    """Return the bytes of a file with a changed table of arrays."""
    table = change_value(random, whole.table, whole.table_paths)
    return whole.with_text(table, whole.document, random.random() < 0.8)


# ---- the run ---------------------------------------------------------------------------------


class Fuzzer:
    """Whole files, and what was seen of their changes."""

    def __init__(self, folder, every_kind=False):
        self.path = os.path.join(folder, "fuzzed.mercer")
        self.files = []
        self.seen = {"refused": 0, "loaded": 0, "answered": 0}
        for name in (*CASES, *MACHINES) if every_kind else SEEDS:
            model, X = _fitted(name)
            try:
                mercer.save(model, self.path, record=RECORD)
            except CannotSave:  # a function of the user's
                continue
            with open(self.path, "rb") as file:
                data = file.read()
            self.files.append(Whole(name, data, X[:5], answers(model, X[:5])))
        self.known = {whole.data for whole in self.files}

    def mutate(self, number, seed=0):
        """Change a file, load it, and use what was loaded."""
        random = np.random.default_rng((seed, number))
        whole = self.files[random.integers(len(self.files))]
        kind = random.random()
        raw = kind < 0.4
        if raw:
            data = bytearray(whole.data)
            other = self.files[random.integers(len(self.files))]
            RAW[random.integers(len(RAW))](random, data, other.data)
            if random.random() < 0.6:
                mend(data)
                raw = False
        else:
            data = (edited_table if kind < 0.5 else edited)(random, whole)
        model = self._loaded(whole, data, number)
        if model is None:
            self.seen["refused"] += 1
            return
        assert not raw or bytes(data) in self.known, "not noticed"
        self.seen["loaded"] += 1
        try:
            got = answers(model, whole.X)
        except (MercerError, ValueError):
            return
        self.seen["answered"] += 1
        if data == whole.data:
            for method, values in whole.expected.items():
                assert np.array_equal(values, got[method]), f"{whole.name}: {method} differs"

    def _loaded(self, whole, data, number):
        """Return the model of changed bytes, or None where they are refused in little time."""
        started = time.perf_counter()
        model = self._read(data, number)
        passed = time.perf_counter() - started
        if passed > SECONDS:  # or others had the processor; CPU time is dear to ask for each time
            started = time.process_time()
            self._read(data, number)
            passed = time.process_time() - started
        assert passed < SECONDS, f"{whole.name}: loading took {passed:.1f} s"
        return model

    def _read(self, data, number):
        """Read one in ten from a file, the others from memory: file systems take longer."""
        try:
            if number % 10 == 0:
                with open(self.path, "wb") as file:
                    file.write(data)
                mercer.load_record(self.path)
                return mercer.load(self.path)
            return models._restored(container.parse(np.frombuffer(data, dtype=np.uint8)), "model")
        except InvalidModelFile as error:
            if "\n" in str(error):
                raise ValueError("the error has more than one line") from error
            return None


def _fitted(name):
    if name in CASES:
        return case(name)
    machine, data = make(name)
    return fit(machine, data), data.X


def limit_memory(most=MEMORY):
    """Let this process take a bounded amount of memory from here on."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + most, used + most))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--every-kind", action="store_true", help="of model, not SVMs alone")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    numbers = range(options.first, options.mutations) if options.only is None else [options.only]
    # Files in memory where the system has them: a disk would take most of the time.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    findings = 0
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        fuzzer = Fuzzer(folder, options.every_kind)
        if os.path.exists("/proc/self/statm"):
            limit_memory()
        ends = time.monotonic() + options.seconds
        for number in numbers:
            try:
                fuzzer.mutate(number, options.seed)
            except KeyboardInterrupt:
                break
            except BaseException:
                traceback.print_exc()
                print(f"mutation {number} of seed {options.seed}: {fuzzer.seen}", flush=True)
                findings += 1
            if (number + 1) % STEP == 0:
                print(so_far(fuzzer.seen, findings), file=sys.stderr, flush=True)
            if findings == MOST_FINDINGS or time.monotonic() > ends:
                break
    print(so_far(fuzzer.seen, findings))
    return 1 if findings else 0


def so_far(seen, findings):
    """Return the counts of a run, and what they cost."""
    seconds = round(time.process_time())
    return json.dumps({**seen, "findings": findings, "CPU seconds": seconds})


if __name__ == "__main__":
    sys.exit(main())

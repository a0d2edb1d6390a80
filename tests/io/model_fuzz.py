"""Change model files at random and see that nothing worse happens than a clear error.

Some changes are raw (bits, cuts, splices) and have to be noticed. Others mend the checksum, so that
they reach the checks behind it: then either the file is refused, or the model that comes out of it
answers or refuses new data without a crash. Run by the million with

    python -m tests.io.model_fuzz --mutations 1000000

and repeat one of them with ``--only NUMBER``.
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
from mercer.exceptions import InvalidModelFile, MercerError
from tests.io.model_cases import answers, case

SEEDS = (
    *("svc binary", "svc ovo", "svc ovr", "svc crammer-singer", "svc probability, three"),
    *("svc sparse", "svc precomputed", "svc pandas", "svc texts", "svc histograms", "labels text"),
    *("svc noise", "nusvc", "svr", "nusvr", "one class", "linear svc", "linear svr", "pipeline"),
    "pipeline numeric frame",
)
SECONDS = 2.0
MEMORY = 200_000_000
"""Bytes that loading a file and asking the model may take besides those of the process."""
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
        data[32:64] = container._digest(np.frombuffer(bytes(data), dtype=np.uint8))


# ---- changes of what the file says -----------------------------------------------------------


def places(value, found=None):
    """Return all (container, key) pairs inside a JSON value."""
    found = [] if found is None else found
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        found.append((value, key))
        if isinstance(item, dict | list):
            places(item, found)
    return found


def change_value(random, top):
    at = places(top)
    if not at:
        return
    holder, key = at[random.integers(len(at))]
    old = holder[key]
    choice = random.integers(5)
    if choice == 0 or (isinstance(old, int | float) and choice < 4):
        holder[key] = _number(random, old)
    elif choice == 1:
        holder[key] = copy.deepcopy(VALUES[random.integers(len(VALUES))])
    elif choice == 2:
        other, other_key = at[random.integers(len(at))]
        holder[key] = copy.deepcopy(other[other_key])
    elif choice == 3:
        del holder[key]
    elif isinstance(holder, dict):
        holder[str(random.choice(["a", "predict", "_machines", "C", "array", "object"]))] = old
    else:
        holder.insert(key, copy.deepcopy(old))


def _number(random, old):
    if isinstance(old, int | float) and random.random() < 0.5:
        return old + int(random.integers(-3, 4)) if random.random() < 0.7 else -old
    return NUMBERS[random.integers(len(NUMBERS))]


def change_array(random, top, arrays):
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


def edited(random, content):
    """Return the bytes of a file with changed values, and a right checksum."""
    top = {"document": json.loads(json.dumps(content.document))}
    arrays = list(content.arrays)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        if random.random() < 0.6:
            change_value(random, top)
        else:
            change_array(random, top, arrays)
    return container.to_bytes(Content(top.get("document"), arrays))


def edited_table(random, content):
    """Return the bytes of a file with a changed table of arrays."""
    data = bytearray(container.to_bytes(content))
    length = int.from_bytes(data[16:24], "little")
    top = json.loads(data[64 : 64 + length])
    change_value(random, {"arrays": top["arrays"]} if random.random() < 0.9 else top)
    text = json.dumps(top, separators=(",", ":")).encode()
    data[64 : 64 + length] = text.ljust(length) if random.random() < 0.8 else text
    data[16:24] = len(text).to_bytes(8, "little")
    mend(data)
    return bytes(data)


# ---- the run ---------------------------------------------------------------------------------


class Fuzzer:
    """Whole files, and what was seen of their changes."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "fuzzed.mercer")
        self.files = []
        self.seen = {"refused": 0, "loaded": 0, "answered": 0}
        for name in SEEDS:
            model, X = case(name)
            mercer.save(model, self.path, record=RECORD)
            with open(self.path, "rb") as file:
                data = file.read()
            found = container.read(self.path)
            self.files.append((name, data, found, X[:5], answers(model, X[:5])))

    def mutate(self, number, seed=0):
        """Change a file, load it, and use what was loaded."""
        random = np.random.default_rng((seed, number))
        name, whole, content, X, expected = self.files[random.integers(len(self.files))]
        kind = random.random()
        raw = kind < 0.4
        if raw:
            data = bytearray(whole)
            RAW[random.integers(len(RAW))](
                random, data, self.files[random.integers(len(self.files))][1]
            )
            mended = random.random() < 0.6
            if mended:
                mend(data)
            data, raw = bytes(data), not mended
        else:
            data = edited_table(random, content) if kind < 0.5 else edited(random, content)
        with open(self.path, "wb") as file:
            file.write(data)
        started = time.process_time()
        try:
            model = mercer.load(self.path)
            if number % 10 == 0:
                mercer.load_record(self.path)
        except InvalidModelFile as error:
            if "\n" in str(error):
                raise ValueError("the error has more than one line") from error
            self.seen["refused"] += 1
            return
        finally:
            passed = time.process_time() - started
            assert passed < SECONDS, f"{name}: loading took {passed:.1f} s"
        assert not raw or data == whole or data in {f[1] for f in self.files}, "not noticed"
        self.seen["loaded"] += 1
        try:
            got = answers(model, X)
        except (MercerError, ValueError):
            return
        self.seen["answered"] += 1
        if data == whole:
            for method, values in expected.items():
                assert np.array_equal(values, got[method]), f"{name}: {method} differs"


def limit_memory(most=MEMORY):
    """Let this process take a bounded amount of memory from here on."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + most, used + most))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    numbers = range(options.mutations) if options.only is None else [options.only]
    # Files in memory where the system has them: a disk would take most of the time.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        fuzzer = Fuzzer(folder)
        if os.path.exists("/proc/self/statm"):
            limit_memory()
        for number in numbers:
            try:
                fuzzer.mutate(number, options.seed)
            except BaseException:
                traceback.print_exc()
                print(f"mutation {number} of seed {options.seed}: {fuzzer.seen}")
                return 1
    print(json.dumps(fuzzer.seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())

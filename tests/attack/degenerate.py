"""Fit machines on degenerate data and see that they answer, or say what is wrong with the data.

``python -m tests.attack.degenerate NAME …`` fits the named machines on every kind of data, prints
one line for each fit that ended otherwise, and a last line with the numbers of fits and answers.
"""

import json
import linecache
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from inspect import signature
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mercer.exceptions import MercerError
from tests.attack.machines import MACHINES, make

SECONDS = 30
"""CPU of one fit and its answers."""
BYTES = 4 << 30
"""Address space beyond what libraries take at the start."""


class Data(NamedTuple):
    """What a fit is given; targets and weights where a machine takes them."""

    X: object
    classes: object
    numbers: object
    weights: object = None


def usual(n=24, p=3, seed=5):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    signal = X[:, 0] + 0.3 * random.normal(size=n)
    return Data(X, (signal > np.median(signal)).astype(int), signal)


def with_X(change: Callable[[np.ndarray], object], **shape):
    data = usual(**shape)
    return data._replace(X=change(data.X.copy()))


def at(X, place, value):
    X[place] = value
    return X


def with_classes(values):
    data = usual()
    pairs = [values[i % len(values)] for i in data.classes]
    return data._replace(classes=np.array(pairs, dtype=object))


def with_numbers(change):
    data = usual()
    return data._replace(numbers=change(data.numbers))


def with_weights(change):
    return usual()._replace(weights=change(np.ones(24)))


TEXTS = np.array([["a", "b", "c"]] * 24, dtype=object)
KINDS: dict[str, Callable[[], Data]] = {
    # rows and columns
    "usual": usual,
    "one row": lambda: usual(n=1),
    "two rows": lambda: usual(n=2),
    "no rows": lambda: with_X(lambda X: X[:0])._replace(classes=[], numbers=[]),
    "no columns": lambda: with_X(lambda X: X[:, :0]),
    "one column": lambda: usual(p=1),
    "more columns than rows": lambda: usual(n=8, p=40),
    "one dimension": lambda: with_X(lambda X: X[:, 0]),
    "three dimensions": lambda: with_X(lambda X: X.reshape(24, 3, 1)),
    "a number": lambda: with_X(lambda X: 3.0),
    "lengths that differ": lambda: with_X(lambda X: X[:-1]),
    # values
    "constant column": lambda: with_X(lambda X: at(X, (slice(None), 1), 7.0)),
    "all columns constant": lambda: with_X(lambda X: np.full_like(X, 3.0)),
    "zeros": lambda: with_X(np.zeros_like),
    "negative zeros": lambda: with_X(lambda X: -np.zeros_like(X)),
    "one row many times": lambda: with_X(lambda X: np.tile(X[:1], (24, 1))),
    "two rows many times": lambda: with_X(lambda X: X[np.arange(24) % 2]),
    "equal columns": lambda: with_X(lambda X: X[:, [0, 0, 0]]),
    "huge": lambda: with_X(lambda X: 1e300 * X),
    "squares overflow": lambda: with_X(lambda X: 1e160 * X),
    "largest": lambda: with_X(lambda X: np.sign(X) * np.finfo(float).max),
    "tiny": lambda: with_X(lambda X: 1e-300 * X),
    "subnormal": lambda: with_X(lambda X: 5e-324 * np.rint(10 * X)),
    "one huge value": lambda: with_X(lambda X: at(X, (0, 0), 1e200)),
    "columns of unlike size": lambda: with_X(lambda X: X * [1e150, 1.0, 1e-150]),
    "far from zero": lambda: with_X(lambda X: X + 1e15),
    "NaN": lambda: with_X(lambda X: at(X, (3, 1), np.nan)),
    "infinity": lambda: with_X(lambda X: at(X, (3, 1), np.inf)),
    # types
    "objects": lambda: with_X(lambda X: X.astype(object)),
    "None": lambda: with_X(lambda X: at(X.astype(object), (2, 0), None)),
    "texts": lambda: with_X(lambda X: TEXTS),
    "numbers as texts": lambda: with_X(lambda X: X.astype(str)),
    "truth values": lambda: with_X(lambda X: X > 0),
    "complex": lambda: with_X(lambda X: X + 1j),
    "dates": lambda: with_X(lambda X: (100 * X).astype("datetime64[D]")),
    "float32": lambda: with_X(lambda X: X.astype(np.float32)),
    "float16": lambda: with_X(lambda X: X.astype(np.float16)),
    "float32, huge": lambda: with_X(lambda X: (1e38 * np.tanh(X)).astype(np.float32)),
    "bytes that overflow": lambda: with_X(lambda X: (100 * np.tanh(X)).astype(np.int8)),
    "large integers": lambda: with_X(lambda X: (2.0**62 * np.tanh(X)).astype(np.int64)),
    "Fortran order": lambda: with_X(np.asfortranarray),
    "big endian": lambda: with_X(lambda X: X.astype(">f8")),
    "read-only": lambda: with_X(lambda X: np.broadcast_to(X[0], X.shape)),
    "lists": lambda: with_X(lambda X: X.tolist()),
    "ragged lists": lambda: with_X(lambda X: [[1.0], [2.0, 3.0]] * 12),
    "sparse": lambda: with_X(lambda X: sparse.csr_matrix(X * (X > 0))),
    "sparse and empty": lambda: with_X(lambda X: sparse.csr_matrix(X.shape)),
    "sparse columns": lambda: with_X(lambda X: sparse.csc_array(X * (X > 0))),
    # targets
    "one class, one number": lambda: usual()._replace(
        classes=np.ones(24, int), numbers=np.ones(24)
    ),
    "a class of one row": lambda: usual()._replace(classes=np.eye(24, dtype=int)[0]),
    "a class for each row": lambda: usual()._replace(classes=np.arange(24)),
    "three classes": lambda: usual()._replace(classes=np.arange(24) % 3),
    "classes as floats": lambda: usual()._replace(classes=usual().classes + 0.5),
    "classes as whole floats": lambda: usual()._replace(classes=usual().classes * 1.0),
    "classes as texts": lambda: with_classes(["no", "yes"]),
    "classes as truth values": lambda: usual()._replace(classes=usual().classes == 1),
    "classes with None": lambda: with_classes([None, "yes"]),
    "classes of mixed types": lambda: with_classes([1, "one"]),
    "classes with NaN": lambda: usual()._replace(classes=at(usual().classes * 1.0, 2, np.nan)),
    "column of targets": lambda: usual()._replace(
        classes=usual().classes[:, None], numbers=usual().numbers[:, None]
    ),
    "no targets": lambda: usual()._replace(classes=None, numbers=None),
    "texts as numbers": lambda: with_numbers(lambda y: y.astype(str)),
    "objects as numbers": lambda: with_numbers(lambda y: y.astype(object)),
    "numbers with NaN": lambda: with_numbers(lambda y: at(y, 2, np.nan)),
    "numbers with infinity": lambda: with_numbers(lambda y: at(y, 2, np.inf)),
    "huge numbers": lambda: with_numbers(lambda y: 1e300 * y),
    "numbers whose squares overflow": lambda: with_numbers(lambda y: 1e160 * y),
    "tiny numbers": lambda: with_numbers(lambda y: 1e-300 * y),
    "complex numbers": lambda: with_numbers(lambda y: y + 1j),
    # weights
    "weights of zero": lambda: with_weights(np.zeros_like),
    "one weight": lambda: with_weights(lambda w: np.eye(24)[0]),
    "negative weights": lambda: with_weights(lambda w: -w),
    "a negative weight": lambda: with_weights(lambda w: at(w, 0, -1.0)),
    "weights with NaN": lambda: with_weights(lambda w: at(w, 0, np.nan)),
    "weights with infinity": lambda: with_weights(lambda w: at(w, 0, np.inf)),
    "huge weights": lambda: with_weights(lambda w: 1e300 * w),
    "tiny weights": lambda: with_weights(lambda w: 1e-300 * w),
    "too few weights": lambda: with_weights(lambda w: w[:-1]),
    "weights as texts": lambda: with_weights(lambda w: w.astype(str)),
}
METHODS = (
    *("predict", "decision_function", "predict_proba", "predict_log_proba", "transform"),
    *("score_samples", "inverse_transform"),
)


class _TooLong(BaseException):
    """A fit that takes more CPU than anybody would wait for."""


def _stop(number, frame):
    raise _TooLong


def arguments(row, data):
    """Return what a machine is given of the data."""
    X = [data.X] if row.takes == "series" else data.X
    targets = {"classes": data.classes, "number": data.numbers}
    options = {} if data.weights is None else {"sample_weight": data.weights}
    return (X, targets[row.task]) if row.task in targets else (X,), options


def is_clear(error):
    """Whether an error was raised on purpose: by mercer, or by scikit-learn's validation.

    What a function of the user's raises is the user's.
    """
    if isinstance(error, MercerError):
        return True
    if not isinstance(error, ValueError | TypeError | AttributeError):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    if "/sklearn/" in last.filename or last.name == "_sizes":
        return True
    line = linecache.getline(last.filename, last.lineno)
    return "/mercer/" in last.filename and "raise" in line


def answered(machine, X):
    """Return the names of methods whose answers are not finite."""
    wrong = []
    for name in METHODS:
        if not hasattr(machine, name) or name == "inverse_transform":
            continue
        found = getattr(machine, name)(X)
        for part in found if isinstance(found, list) else [found]:
            values = np.asarray(part.toarray() if sparse.issparse(part) else part)
            low = name in ("predict_log_proba", "score_samples")  # log 0 is −∞
            if values.dtype.kind == "f":
                fine = ~np.isnan(values) & (values < np.inf) if low else np.isfinite(values)
                if not fine.all():
                    wrong.append(name)
    return wrong


def attack(name, kind):
    """Fit a machine on data of one kind; return what is wrong with what came of it, or None."""
    row, _ = MACHINES[name]
    machine, _ = make(name)
    given, options = arguments(row, KINDS[kind]())
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        machine.fit(*given, **options)
        wrong = answered(machine, given[0])
        proof = getattr(machine, "certificate_", None)  # made when it is read
        if proof is not None and repr(proof) and proof.status == "optimal" and not proof.bounds:
            return f"claims an optimum that nothing bounds: {proof!r}"
        return f"not finite: {', '.join(wrong)}" if wrong else None
    except _TooLong:
        return f"took more than {SECONDS} s"
    except Exception as error:
        if is_clear(error):
            return "refused"
        last = traceback.extract_tb(error.__traceback__)[-1]
        own = [f for f in traceback.extract_tb(error.__traceback__) if "/mercer/" in f.filename]
        where = f"{own[-1].filename.partition('/mercer/')[2]}:{own[-1].lineno}" if own else ""
        text = " ".join(str(error).split())[:150]
        return f"{type(error).__name__} in {last.name}, {where}: {text}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def takes_weights(name):
    """Whether a machine has weights of rows."""
    return "sample_weight" in signature(MACHINES[name][0].estimator.fit).parameters


def main(names, kinds):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + BYTES, resource.RLIM_INFINITY))
    ends = {"fits": 0, "answered": 0, "refused": 0}
    for name in names:
        for kind in kinds:
            if "weight" in kind and not takes_weights(name):
                continue
            found = attack(name, kind)
            ends["fits"] += 1
            if found is None:
                ends["answered"] += 1
            elif found == "refused":
                ends["refused"] += 1
            else:
                print(f"{name} | {kind} | {found}", flush=True)
    print(json.dumps(ends))


if __name__ == "__main__":
    main(sys.argv[1:] or MACHINES, KINDS)

"""An epoch of a network against scikit-learn: 784 → 256 → 10 in batches of 200, by Adam."""

import warnings
from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

EPOCHS = 1


@cache
def _data(rows, dtype):
    """Ten classes of images of the size of MNIST's, most pixels zero."""
    random = np.random.default_rng(0)
    y = random.integers(0, 10, size=rows)
    centres = np.maximum(random.standard_normal((10, 784), dtype=np.float32) - 0.8, 0)
    X = centres[y]
    X += 0.3 * random.standard_normal((rows, 784), dtype=np.float32)
    np.maximum(X, 0, out=X)
    return X.astype(dtype, copy=False), y


def _fit(library, rows, dtype):
    if library == OURS:
        from mercer import MLPClassifier
    else:
        from sklearn.neural_network import MLPClassifier
    X, y = _data(rows, dtype)

    def call():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one epoch is not the end
            machine = MLPClassifier(256, batch_size=200, max_iter=EPOCHS, random_state=0)
            return machine.fit(X, y)

    return call


def _compare(models, *, dtype):
    """Both start from the same weights and see the same batches, so the losses are the same."""
    ours, theirs = (models[name].loss_ for name in (OURS, "scikit-learn"))
    if abs(ours - theirs) > (1e-9 if dtype == "float64" else 1e-3) * theirs:
        raise Disagreement(f"our loss is {ours:.8f}, scikit-learn's {theirs:.8f}")
    return f"Losses after the epoch: {ours:.8f} and {theirs:.8f}."


def _cases(scale):
    rows = max(400, scaled(60_000, scale))
    return [
        InProcess(
            label=f"{rows:,} × 784 → 256 → 10, {dtype}",
            contenders={name: partial(_fit, name, rows, dtype) for name in (OURS, "scikit-learn")},
            check=partial(_compare, dtype=dtype),
            scale=scale,
        )
        for dtype in ("float64", "float32")
    ]


JOB = Job("mlp", "One epoch of a network, 60,000 × 784 → 256 → 10", _cases, repeats=5)

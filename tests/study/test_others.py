"""Methods of other libraries on folds: what they may use while they learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info

from mercer.study import others
from mercer.study.others import METHODS, Method, answers


class Watched(LogisticRegression):
    """A method that remembers how many threads of OpenMP it had."""

    def fit(self, X, y):
        Watched.seen = {
            pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"
        }
        return super().fit(X, y)


def _watched(random_state, threads):
    Watched.given = threads
    return Watched()


@pytest.mark.parametrize(("small", "held"), [(40, True), (39, False)])
def test_small_tables_have_one_thread_of_openmp(small, held, monkeypatch):
    monkeypatch.setattr(others, "_SMALL", small)
    monkeypatch.setenv("MERCER_THREADS", "3")
    before = {p["num_threads"] for p in threadpool_info() if p["user_api"] == "openmp"}
    X = sparse.csr_matrix(np.random.default_rng(0).normal(size=(40, 3)))
    y = np.arange(40) % 2
    watched = Method("watched", "scikit-learn", _watched, _watched, spins=True)
    said = answers(watched, {}, (X, y), X, np.array([0, 1]), 0)
    assert said.probabilities.shape == (40, 2)
    assert Watched.seen == ({1} if held else before)
    assert Watched.given == (1 if held else 3)


def test_methods_of_scikit_learn_are_always_there():
    assert [method.installed for method in METHODS if method.library == "scikit-learn"] == [
        True
    ] * 3

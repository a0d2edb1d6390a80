"""Kernels of strings on real DNA, beside what others have published; all settings are chosen by
cross-validation inside the training parts, but for C = 10 of the promoters."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import (
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)

from mercer import SVC, Mismatch, Spectrum, read_table


def columns(name):
    table = read_table(name)
    return np.array(table.frame["dna"].to_pylist()), np.asarray(table.target)


def right(K, y, train, test, C):
    machine = SVC(kernel="precomputed", C=C).fit(K[np.ix_(train, train)], y[train])
    return machine.predict(K[np.ix_(test, train)]) == y[test]


def chosen(matrices, y, train, folds, costs):
    """Return the matrix and C of the best cross-validated accuracy on the training rows."""
    scores = {
        (name, C): np.mean([right(K, y, train[a], train[b], C).mean() for a, b in folds])
        for name, K in matrices.items()
        for C in costs
    }
    return max(scores, key=scores.get)


def pieces(X, width, sizes):
    """Return the kernel of k-mers counted in each piece of a window by itself, normalised."""
    cut = [[x[i : i + width] for x in X] for i in range(0, len(X[0]), width)]
    K = sum(Spectrum(k)(piece) for piece in cut for k in sizes)
    norms = np.sqrt(np.diag(K))
    return K / np.outer(norms, norms)


@pytest.mark.slow
def test_splice_sites_by_pieces_of_the_window():
    """Statlog has 4.1 % errors for its best machine and 14.6 % for nearest neighbours, on 2,000
    training and 1,186 test windows. Where k-mers stand matters: counted in pieces of 3 letters
    they do as well, counted in the whole window they do not."""
    X, y = columns("splice")
    train, test = train_test_split(np.arange(len(y)), train_size=2000, stratify=y, random_state=0)
    settings = {(60, (5,)), (12, (1, 2, 3)), (6, (1, 2, 3)), (3, (1, 2, 3))}
    matrices = {setting: pieces(X, *setting) for setting in settings}
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(train, y[train]))
    setting, C = chosen(matrices, y, train, folds, (1.0, 10.0))
    assert setting == (3, (1, 2, 3))
    errors = 1 - right(matrices[setting], y, train, test, C).mean()
    assert abs(errors - 0.041) < 0.012  # two deviations of so many test windows; 0.042 measured
    assert 1 - right(matrices[60, (5,)], y, train, test, 1.0).mean() > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("family", ["spectrum", pytest.param("mismatch", marks=pytest.mark.attack)])
def test_promoters_and_their_overlaps(family):
    """Published are, leaving one of 106 out: 4 errors (KBANN), 8 (neural network), 13 (nearest
    neighbour), 19 (ID3). k-mers do better, because most windows without a promoter overlap others:
    without these relatives among the training rows they make far more errors."""
    X, y = columns("promoters")
    kernels = (
        [Spectrum(k) for k in (3, 4, 5, 6)]
        if family == "spectrum"
        else [Mismatch(k, 1) for k in (4, 5, 6)]
    )
    matrices = {repr(kernel): kernel.normalized()(X) for kernel in kernels}
    relatives = connected_components(Spectrum(15)(X) > 0)[1]
    shared = np.bincount(relatives)[relatives] > 1
    assert (shared & (y == "no")).sum() == 51
    assert (shared & (y == "yes")).sum() == 9

    def errors(groups):
        """Count errors, leaving one group out after the other; a group stays in one fold."""
        wrong = 0
        for train, test in LeaveOneGroupOut().split(X, y, groups):
            inner = StratifiedGroupKFold(3, shuffle=True, random_state=0)
            folds = list(inner.split(train, y[train], groups[train]))
            name, C = chosen(matrices, y, train, folds, (10.0,))
            wrong += (~right(matrices[name], y, train, test, C)).sum()
        return wrong

    usual, strict = errors(np.arange(len(y))), errors(relatives)
    print(family, usual, strict)
    assert usual <= 4
    assert 12 <= strict <= 35

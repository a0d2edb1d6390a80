"""Joint problems of many classes against our own one-vs-rest on the same data."""

from functools import cache, partial

from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job
from benchmarks.svm_cases import CACHE_MB, sizes

RELATIVE_GAP = 1e-3


@cache
def _blobs(rows):
    """Ten classes in 20 dimensions that overlap."""
    from sklearn.datasets import make_classification
    from sklearn.preprocessing import StandardScaler

    X, y = make_classification(
        rows, 20, n_informative=10, n_classes=10, n_clusters_per_class=1, random_state=0
    )
    return StandardScaler().fit_transform(X), y


def _fit(form, rows):
    from mercer import SVC

    X, y = _blobs(rows)
    return lambda: SVC(multi_class=form, cache_size=CACHE_MB).fit(X, y)


def _solved(models):
    gap = models[OURS].certificate_.relative_gap
    if gap > RELATIVE_GAP:
        raise Disagreement(f"the relative gap is {gap:.1e}")
    return f"Our relative gap: {gap:.1e}."


def _cases(scale):
    rows = sizes(5_000, scale)
    return [
        InProcess(
            label=f"{form}, {rows:,} × 20, ten classes",
            contenders={OURS: partial(_fit, form, rows), "our ovr": partial(_fit, "ovr", rows)},
            check=_solved,
            scale=scale,
        )
        for form in ("weston_watkins", "crammer_singer")
    ]


JOB = Job("svc_joint", "Joint multi-class machines against one-vs-rest", _cases, repeats=5)

"""Prediction with a fitted support vector machine."""

from functools import partial

from benchmarks.job import Job
from benchmarks.svm_cases import classification, predict_case, sizes


def _cases(scale):
    data = partial(classification, sizes(20_000, scale), 20)
    rows = sizes(10_000, scale)
    return [predict_case(f"SVC, {rows:,} rows, about 6,000 support vectors", data, rows, scale)]


JOB = Job("svc_predict", "SVC.decision_function on 10,000 rows", _cases)

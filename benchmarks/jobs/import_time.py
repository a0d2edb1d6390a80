"""Time until the first name can be used, each import in a fresh interpreter."""

from benchmarks.fresh import Fresh
from benchmarks.job import Job


def _cases(scale):
    return [
        Fresh(
            "time to import, fresh processes",
            {"mercer": "from mercer import RBF", "scikit-learn": "import sklearn.svm"},
        )
    ]


JOB = Job("import_time", "from mercer import RBF, beside import sklearn.svm", _cases, repeats=11)

"""Fits of support vector machines against scikit-learn and scikit-learn-intelex."""

from functools import partial

from benchmarks.job import Job
from benchmarks.svm_cases import checkerboard, classification, digits, fit_case, regression, sizes


def _cases(scale):
    n = partial(sizes, scale=scale)
    cases = [fit_case("SVC digits, 1,797 × 64, ten classes", "SVC", digits, scale)]
    for rows, columns in ((5_000, 20), (20_000, 20), (50_000, 20), (20_000, 200)):
        data = partial(classification, n(rows), columns)
        cases.append(fit_case(f"SVC {n(rows):,} × {columns}, C = 1", "SVC", data, scale))
    for noise in (0.0, 0.02):
        data = partial(checkerboard, n(20_000), noise)
        label = f"SVC checkerboard {n(20_000):,} × 2, C = 1,000, {noise:.0%} flipped"
        cases.append(fit_case(label, "SVC", data, scale, C=1000.0, gamma=1.0))
    cases.append(
        fit_case(
            f"SVC {n(5_000):,} × 20, C = 10,000",
            "SVC",
            partial(classification, n(5_000), 20),
            scale,
            C=1e4,
        )
    )
    targets = partial(regression, n(20_000), 20)
    cases.append(fit_case(f"SVR {n(20_000):,} × 20", "SVR", targets, scale))
    one = partial(classification, n(20_000), 20)
    cases.append(
        fit_case(f"OneClassSVM {n(20_000):,} × 20", "OneClassSVM", one, scale, ("scikit-learn",))
    )
    return cases


JOB = Job("svc", "Fits of SVC, SVR and OneClassSVM, 1,797 to 50,000 rows", _cases, repeats=5)

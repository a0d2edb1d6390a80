"""How many steps answers take: Newton's methods a few, whatever the tolerance, others not many.

The ceilings are half as much again as what was counted, and at least five steps more: another BLAS
rounds otherwise, which moves a short count by a step or a few, and a step that goes wrong by more.
"""

import pytest

from mercer.solvers.base import Status
from tests.solvers.test_solver_table import TABLE

FINE = 1e-9
COUNTED = {
    "SMO": (488, 1072, 176, 698, 1795),
    "BoxQPSolver": (488, 1072, 176, 698, 1795),
    "KernelCoordinateAscent": (1500,),
    "JointMulticlassSolver": (2280, 2401),
    "WeightNewton": (7, 8, 7),
    "RidgeSolver": (1, 2, 1, 4),
    "KernelLogisticNewton": (3, 5),
    "LinearLogisticNewton": (4, 5),
    "ProximalNewton": (4, 5, 5),
    "LinearNewton": (28, 36),
    "SquaredNewton": (5, 4),
    "DualDescent": (749, 33),
    "DescentThenNewton": (33,),
    "ClassDescent": (14,),
    "ColumnDescent": (94,),
    "WorkingSets": (2, 2),
    "ElasticNetDescent": (5,),
    "BlockDescent": (24, 24),
    "ManifoldNewton": (6, 6),
    "WarpedKernelSolver": (334, 32),
    "LandmarkNewton": (71, 31),
    "LandmarkConjugateGradients": (1,),
    "TiltedVertices": (1, 3),
    "LeastNorm": (24, 11),
    "EvidenceSolver": (19, 9),
    "SymmetricFixedPoint": (9,),
    "DeflationFixedPoint": (9,),
    "ParallelRows": (5,),
    "DeflationRows": (5,),
    "QuasiNewtonICA": (4,),
    "PairRotations": (2,),
    "LBFGS": (7,),
    "LineSearchDescent": (19,),
}
"""Steps to a violation of 10⁻⁹, in the order of the table of solvers."""


def counted():
    seen: dict[str, int] = {}
    for row in TABLE:
        name = type(row.solver).__name__
        place = seen[name] = seen.get(name, -1) + 1
        if name in COUNTED:
            yield pytest.param(row, COUNTED[name][place], id=f"{row}-{place}")


@pytest.mark.parametrize(("row", "steps"), list(counted()))
def test_steps_are_few(row, steps):
    found = row.solve(tol=FINE, max_iter=10 * steps + 10)
    assert found.status is Status.OPTIMAL
    assert found.statistics.iterations <= max(1.5 * steps, steps + 5)

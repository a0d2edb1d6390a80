"""Descent methods with traces that plot, and problems with constraints.

A public face of ``mercer.solvers`` and ``mercer.problems``.
"""

from mercer.problems.constrained import (
    ConstrainedProblem as ConstrainedProblem,
)
from mercer.problems.convexity import SlaterPoint as SlaterPoint, Violation as Violation
from mercer.problems.functions import (
    Affine as Affine,
    Function as Function,
    QuadraticFunction as QuadraticFunction,
)
from mercer.solvers.constrained_programs import (
    ConstrainedSolution as ConstrainedSolution,
    solve as solve,
)
from mercer.solvers.descent import (
    coordinate_ascent as coordinate_ascent,
    gradient_descent as gradient_descent,
    newton as newton,
    steepest_descent as steepest_descent,
)
from mercer.solvers.descent_trace import Descent as Descent, Trace as Trace
from mercer.solvers.dual_optimum import (
    DualOptimum as DualOptimum,
    maximise_dual as maximise_dual,
)
from mercer.solvers.line_search import Step as Step, line_search as line_search
from mercer.solvers.svm.smo_trace import SMOTrace as SMOTrace, smo as smo

"""A verifier of reports with NumPy alone: it shares no code with solvers, kernels or problems.

A report that carries a proof holds, as JSON, rows or Gram matrices, and problems with their
answers. From these everything is computed anew: the Gram matrix, the primal and the dual value, the
gap and the residuals of the Karush-Kuhn-Tucker conditions. Then each number that the page prints
has to be a right rounding of the computed one.

Any value of the dual problem bounds the optimum from below, any value of the primal problem from
above. So a report whose numbers are changed together, without a mistake, is still a proof: of what
it then says.
"""

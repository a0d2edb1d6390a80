"""Estimators: thin faces in scikit-learn's grammar over kernels, problems and solvers."""

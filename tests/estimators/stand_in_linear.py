"""A pytest plugin that puts mercer's linear regressions in the place of scikit-learn's."""

import sklearn.linear_model

import mercer

for name in ("Lasso", "ElasticNet", "Ridge", "lasso_path", "enet_path"):
    setattr(sklearn.linear_model, name, getattr(mercer, name))

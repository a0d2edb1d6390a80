"""A pytest plugin that puts mercer's logistic regression in the place of scikit-learn's."""

import sklearn.linear_model
import sklearn.linear_model._logistic

import mercer

sklearn.linear_model.LogisticRegression = mercer.LogisticRegression
sklearn.linear_model._logistic.LogisticRegression = mercer.LogisticRegression

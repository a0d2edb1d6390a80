"""A pytest plugin that puts mercer's perceptrons in the place of scikit-learn's."""

import sklearn.linear_model
import sklearn.neural_network

import mercer

sklearn.linear_model.Perceptron = mercer.Perceptron
for name in ("MLPClassifier", "MLPRegressor"):
    if name in mercer.__all__:
        setattr(sklearn.neural_network, name, getattr(mercer, name))

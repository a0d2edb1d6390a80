"""A pytest plugin that puts mercer's machines in the place of scikit-learn's."""

import sklearn.svm

import mercer

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")

for name in NAMES:
    if name in mercer.__all__:
        setattr(sklearn.svm, name, getattr(mercer, name))

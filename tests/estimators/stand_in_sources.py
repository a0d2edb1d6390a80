"""A pytest plugin that puts mercer's FastICA in the place of scikit-learn's."""

import sklearn.decomposition
from sklearn.decomposition import _fastica

import mercer

sklearn.decomposition.FastICA = mercer.FastICA
_fastica.FastICA = mercer.FastICA  # the function fastica builds one

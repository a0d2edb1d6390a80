"""A pytest plugin that puts mercer's subspace methods in the place of scikit-learn's."""

import sklearn.decomposition
import sklearn.discriminant_analysis

import mercer

for module, names in {
    sklearn.decomposition: ("PCA", "KernelPCA"),
    sklearn.discriminant_analysis: ("LinearDiscriminantAnalysis",),
}.items():
    for name in names:
        if name in mercer.__all__:
            setattr(module, name, getattr(mercer, name))

"""A pytest plugin that puts mercer's classes in the place of scikit-learn's.

`STAND_IN` in the environment names them, as in `sklearn.svm:SVC sklearn.svm:NuSVC`.
"""

import importlib
import os

import mercer

for place in os.environ["STAND_IN"].split():
    module, name = place.split(":")
    home = importlib.import_module(module)
    getattr(home, name)  # A name that scikit-learn does not have would replace nothing.
    setattr(home, name, getattr(mercer, name))

"""
What if the data are wrong?
===========================

A machine learns heart disease from 200 patients. For each of 70 others: how many of the 200 would
have to be wrong, left out or with the other diagnosis, before the answer is another one? The
numbers are proven lower bounds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidgeClassifier, load_data, wrong_rows

heart = load_data("heart")
X, y, new, truth = heart.X[:200], heart.y[:200], heart.X[200:], heart.y[200:]
machine = make_pipeline(StandardScaler(), KernelRidgeClassifier(3.0)).fit(X, y)
found = wrong_rows(machine, X, y, new)
print(found)
print(found.sentence(int(found.counts.argmax())))

# %%
# Each dot is a patient. Answers with a large decision value hang on more rows, and wrong answers
# (orange crosses) mostly on few.

values, right = machine.decision_function(new), found.predictions == truth
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for chosen, mark, label in ((right, "oC0", "right"), (~right, "XC1", "wrong")):
    axes.plot(np.abs(values)[chosen], found.counts[chosen], mark, ms=7, label=label)
axes.set_xlabel("size of the decision value")
axes.set_ylabel("rows that have to be wrong, at least")
axes.legend(frameon=False)
plt.show()

"""
How much does each column count?
================================

A mixed table gets one kernel for each column: a Gaussian for a number, equality for a category.
Their sum may count all columns alike, or learn from data how much each of them counts.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

from mercer import RBF, Delta, MultipleKernelClassifier, learn_weights, load_data

# %%
# Three columns of the heart data are categories in truth, so they get their names back.
data = load_data("heart")
table = pd.DataFrame(data.X, columns=data.columns)
table["sex"] = table["sex"].map({-1: "female", 1: "male"})
pain = dict(enumerate(["typical", "atypical", "no angina", "silent"]))
table["chest_pain"] = ((table["chest_pain"] + 1) * 1.5).round().map(pain)
table["thal"] = table["thal"].map({-1: "normal", 0.5: "fixed defect", 1: "reversible defect"})

categories = ["sex", "chest_pain", "thal"]
kernels = [Delta().on(name) if name in categories else RBF().on(name) for name in table.columns]

# %%
# Four ways to weigh them. Each answer is the share of a column in the spread of the sum, and each
# has a certificate: the weights are the best ones of the problem that they solve.
methods = {
    "centred alignment": {"method": "alignment"},
    "EasyMKL": {"method": "easymkl"},
    "ℓ1-norm": {"method": "l1", "C": 0.3},
    "ℓ2-norm": {"method": "lp", "p": 2.0, "C": 0.3},
}
shares = {}
for name, options in methods.items():
    found = learn_weights(kernels, table, data.y, **options)
    shares[name] = found.shares
    print(f"{name}: relative gap {found.certificate.relative_gap:.1e}")

# %%
# The number of vessels, the kind of chest pain and the thallium scan say most, and blood sugar says
# next to nothing. EasyMKL, which looks at the points nearest to the other class, is of another
# opinion. The ℓ1-norm leaves out columns that do not help the machine, the ℓ2-norm keeps all.
order = np.argsort(np.mean(list(shares.values()), axis=0))
places = np.arange(len(order))
figure, axes = plt.subplots(figsize=(7.5, 5.2), layout="constrained")
for k, (name, values) in enumerate(shares.items()):
    axes.barh(places + 0.2 * (k - 1.5), values[order], height=0.2, label=name)
axes.axvline(1 / len(order), color="0.6", linewidth=1, linestyle=":", label="equal")
axes.set_yticks(places, [table.columns[j] for j in order])
axes.set(xlabel="share of the kernel", title="How much each column counts")
axes.legend(frameon=False)
plt.show()

# %%
# Weights are learnt from the diagnosis, so a fair score learns them in each training fold anew. The
# machines do that in their ``fit``.
for name, options in methods.items():
    machine = MultipleKernelClassifier(kernels, **options)
    scores = cross_val_score(machine, table, data.y, cv=5, scoring="roc_auc")
    print(f"{name}: area under the curve {scores.mean():.3f}")

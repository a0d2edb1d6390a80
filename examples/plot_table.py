"""
A kernel for a mixed table
==========================

Real tables mix numbers and categories. Each kernel gets the columns it understands with ``on``;
sums and products make one kernel of them. A sum is large when *any* part finds two patients
alike, a product only when *all* parts do.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import RBF, Delta, Gram, Overlap, load_data

# %%
# The heart data come as numbers. Three columns are categories in truth, so they get their names
# back.
data = load_data("heart")
table = pd.DataFrame(data.X, columns=data.columns)
table["sex"] = table["sex"].map({-1: "female", 1: "male"})
pain = dict(enumerate(["typical", "atypical", "no angina", "silent"]))
table["chest_pain"] = ((table["chest_pain"] + 1) * 1.5).round().map(pain)
table["thal"] = table["thal"].map({-1: "normal", 0.5: "fixed defect", 1: "reversible defect"})
table["diagnosis"] = data.y
table = table.sort_values("diagnosis", kind="stable", ignore_index=True)

shown = ["age", "max_heart_rate", "sex", "chest_pain", "thal", "diagnosis"]
print(table[shown].iloc[[0, 1, -2, -1]].round(2).to_string())

# %%
# Building blocks, and what is known of them without any data.
numbers = RBF(sigma="median").on("age", "blood_pressure", "max_heart_rate", "st_depression")
categories = Overlap().on("sex", "chest_pain", "thal")
total = 0.5 * numbers + 0.5 * categories
both = numbers * categories
strict = numbers * Delta().on("sex", "chest_pain")

for name, kernel in {"total": total, "both": both, "strict": strict}.items():
    print(f"{name}: {kernel}\n    is {kernel.definite.words}")

# %%
# The parameters of the parts have nested names, as in scikit-learn. The median is settled for
# each part on its own columns; the kernel that was written down stays as it is.
gram = Gram(total, table)
print([name for name in total.get_params() if name.endswith("sigma")])
print("settled:", gram.kernel)

# %%
# The parts and the whole
# -----------------------
# Below the patients are ordered by diagnosis, so a good kernel shows two bright blocks. The
# alignment measures it: the cosine between the centred K and the matrix of equal diagnoses.
y = np.where(table["diagnosis"] == "disease", 1.0, -1.0)
y -= y.mean()


def alignment(K):
    """Return the alignment of a matrix with the diagnosis, centred."""
    K = K - K.mean(axis=0)
    K = K - K.mean(axis=1)[:, None]
    return y @ K @ y / (np.linalg.norm(K) * (y @ y))


parts = {
    "numbers": numbers,
    "categories": categories,
    "½ numbers + ½ categories": total,
    "numbers × categories": both,
}
figure, panels = plt.subplots(1, 4, figsize=(10, 3.1), layout="constrained")
for axes, (name, kernel) in zip(panels, parts.items(), strict=True):
    K = kernel(table)
    image = axes.imshow(K, vmin=0, vmax=1, cmap="viridis")
    axes.set(title=f"{name}\nalignment {alignment(K):.2f}", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
groups = table["diagnosis"].value_counts(sort=False)
middles = np.cumsum(groups) - groups / 2
panels[0].set_yticks(middles, groups.index, rotation=90, va="center")
panels[0].tick_params(length=0)
figure.colorbar(image, ax=panels, label="k(x, z)", shrink=0.8)
plt.show()

"""
Reading DNA
===========

A gene of a primate is cut at splice sites: an exon ends (EI) or begins (IE) there. The data set
``splice`` has 3,190 windows of 60 letters with a site in the middle, or none (N).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from mercer import FeatureMap, GappyKmer, LinearSVC, Mismatch, Spectrum, read_table

table = read_table("splice")
dna = np.array(table.frame["dna"].to_pylist())
site = np.asarray(table.target)
print(dna[0], site[0])

# %%
# Which patterns tell?
# --------------------
# These kernels count patterns and do not know where they stand. Linear machines on explicit
# features compare them in seconds. Longer patterns tell more, until they get too rare; patterns
# with wrong or missing letters are less rare.
kernels = {
    **{f"{k}-mers": Spectrum(k) for k in (1, 2, 3, 4, 5, 6)},
    "5-mers, 1 mismatch": Mismatch(5, 1),
    "4 of 6 letters": GappyKmer(4, 2),
}
accuracy = {}
for name, kernel in kernels.items():
    machine = make_pipeline(FeatureMap(kernel.normalized()), LinearSVC(C=5.0, random_state=0))
    accuracy[name] = np.mean(cross_val_predict(machine, dna, site, cv=3) == site)

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.barh(list(accuracy), list(accuracy.values()), color="C0")
axes.axvline(np.mean(site == "N"), color="0.3", ls="--", lw=1)
axes.text(np.mean(site == "N"), -0.5, " always N", color="0.3", va="top", fontsize=9)
axes.invert_yaxis()
axes.set(xlabel="accuracy, cross-validated", xlim=(0.4, 0.8))
plt.show()

# %%
# Where they stand matters
# ------------------------
# Here position is the stronger clue. A kernel on each half of the window, added up, knows the
# side of the site on which a pattern stands.
halves = np.array([[x[:30], x[30:]] for x in dna], dtype=object)
sides = Spectrum(4).normalized().on(0) + Spectrum(4).normalized().on(1)
machine = make_pipeline(FeatureMap(sides), LinearSVC(C=5.0, random_state=0))
score = np.mean(cross_val_predict(machine, halves, site, cv=3) == site)
print(f"4-mers of the whole window: {accuracy['4-mers']:.1%}; of its halves: {score:.1%}")

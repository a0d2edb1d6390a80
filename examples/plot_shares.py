"""
Why does it say so?
===================

A support vector machine learns heart disease from thirteen measurements. Each answer is the sum of
the shares of the columns, exactly: no sampling, the same numbers in every run.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, explain, load_data

heart = load_data("heart")
machine = make_pipeline(StandardScaler(), SVC(C=1.0, gamma=0.03)).fit(heart.X, heart.y)
why = explain(machine, heart.X)
print(why)

# %%
# On the left, one patient: which measurements move the answer up (towards "healthy") and which move
# it down. On the right, all patients, one dot each; columns are ordered by the mean size of their
# shares.

why = replace(why, names=list(heart.columns))
figure, (one, all_rows) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
why.plot(0, ax=one)
one.set_title("one patient")
why.plot(ax=all_rows)
all_rows.set_title("all patients")
plt.show()

# %%
# The shares and the base add up to the decision of the machine, to the last digits.

answer = machine.decision_function(heart.X)
print(abs(why.base + why.values.sum(axis=1) - answer).max())

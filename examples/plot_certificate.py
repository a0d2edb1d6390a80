"""
How good is an answer?
======================

A solver stops when it thinks that it is done. A certificate says how far from the optimum the
answer can be at most, whoever found it: ``mercer.certify`` judges the machines of scikit-learn
as well.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from mercer import SVC, certify

# %%
# A verdict on scikit-learn
# -------------------------
# 569 tumours with 30 measurements, and a machine with C = 10. The primal value is what the machine
# pays: ½‖w‖² + C Σ ξᵢ. The dual value is a bound that no machine can go below. What lies
# between them is the ``gap``.
X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
theirs = svm.SVC(C=10).fit(X, y)
print(certify(theirs, X, y))

# %%
# Loose and tight tolerances
# --------------------------
# ``tol`` bounds the violation of the optimality conditions, in mercer as in scikit-learn. What a
# user wants to know is how far the answer is from the best one, and that is not ``tol`` itself. The
# certificate says it. The best value known, from a very sharp fit, shows that it says the truth.
best = certify(SVC(C=10, tol=1e-9).fit(X, y), X, y).dual
tolerances = 10.0 ** np.arange(0, -9, -1)
gaps, errors = {}, {}
for name, kind in {"scikit-learn": svm.SVC, "mercer": SVC}.items():
    verdicts = [certify(kind(C=10, tol=tol).fit(X, y), X, y) for tol in tolerances]
    gaps[name] = np.array([max(verdict.relative_gap, 1e-13) for verdict in verdicts])
    errors[name] = np.array([max(1 - best / v.primal, 1e-13) for v in verdicts])
    assert np.all(errors[name] <= gaps[name] * 1.01 + 1e-12)

print("  tol    scikit-learn: gap   true    mercer: gap   true")
for i, tol in enumerate(tolerances):
    numbers = [values[name][i] for name in gaps for values in (gaps, errors)]
    print("{:5.0e} {:18.0e} {:6.0e} {:14.0e} {:6.0e}".format(tol, *numbers))

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, colour, marker in (("scikit-learn", "C1", "s"), ("mercer", "C0", "o")):
    axes.plot(tolerances, gaps[name], marker + "-", color=colour, ms=5, label=name)
axes.plot(tolerances, tolerances, color="C5", lw=1, label="gap = tol")
axes.set(xscale="log", yscale="log", xlabel="tol", ylabel="relative gap, certified")
axes.invert_xaxis()
axes.legend(loc="lower left")
plt.show()

# %%
# scikit-learn stops getting better near 10⁻⁶, because LIBSVM keeps kernel values in single
# precision. mercer works in single precision on the way too, but ends in double precision.
#
# An answer that was tampered with
# --------------------------------
# The certificate is computed from the data, the multipliers and the bias, by code that no solver
# shares. Change a few multipliers, and the gap tells.
wrong = svm.SVC(C=10).fit(X, y)
print(f"as fitted:              {certify(wrong, X, y).relative_gap:.1e}")
wrong.dual_coef_ = wrong.dual_coef_ * np.where(np.arange(len(wrong.support_)) % 20 == 0, 0.5, 1.0)
verdict = certify(wrong, X, y)
print(f"some multipliers halved: {verdict.relative_gap:.1e}")
print(f"the sum Σ yᵢαᵢ, which has to be 0, is off by {verdict.dual_feasibility:.2g}")

# %%
# Out of time
# -----------
# A time limit, like Ctrl-C, ends a fit early. It still returns a machine, with a warning that says
# how far it is. Here are 16,173 images of digits, each also moved by one pixel in eight directions.
# Is the digit odd? One label in twenty is wrong on purpose, which makes the problem hard.
digits = load_digits()
moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
images = np.concatenate([np.roll(digits.images, move, axis=(1, 2)) for move in moves])
images, odd = images.reshape(len(images), -1) / 16, np.tile(digits.target % 2, len(moves))
given = odd ^ (np.random.default_rng(0).random(len(odd)) < 0.05)
train = np.arange(len(images)) % len(digits.target) % 5 != 0  # all moves of an image stay together

rows, certificates = [], []
for limit in (0.2, 0.4, 0.6, 0.8, 1, 1.5, None):
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        machine = SVC(C=10, time_limit=limit).fit(images[train], given[train])
    seconds = time.perf_counter() - start
    accuracy = machine.score(images[~train], odd[~train])
    certificates.append(machine.certificate_)
    rows.append((seconds, machine.certificate_.relative_gap, accuracy))
    print(f"{seconds:5.2f} s: gap {rows[-1][1]:.1e}, {accuracy:.1%} correct on new images")
    if caught and limit == 0.6:
        print("        " + str(caught[0].message))

# %%
# The accuracy is there long before the last digits of the optimum are.
seconds, gap, accuracy = np.transpose(sorted(rows))
figure, panels = plt.subplots(2, 1, figsize=(7, 4.4), layout="constrained", sharex=True)
panels[0].plot(seconds, gap, "o-", color="C0")
panels[0].set(yscale="log", ylabel="relative gap")
panels[1].plot(seconds, 1 - accuracy, "s-", color="C1")
panels[1].set(yscale="log", xlabel="seconds", ylabel="wrong on\nnew images", xlim=(0, None))
plt.show()

# %%
# A certificate draws its bounds, with those of other fits of the same problem: the optimum lies in
# between at any time.
axes = certificates[-1].plot(certificates[:-1])
axes.set_title("What is known of the optimum")
plt.show()

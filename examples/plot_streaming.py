"""
Data larger than memory
=======================

``StreamedRidge`` reads its data in pieces and keeps landmarks only. Here the data are a file of
100,000 rows, small enough for a gallery; ten million work the same way, in the same memory.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer import RBF, StreamedRidge

# %%
# A file on disk, which is mapped and never read as a whole.
random = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
X = random.uniform(-3, 3, (102_000, 3)).astype(np.float32)
y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.3 * X[:, 2] + 0.1 * random.standard_normal(len(X))
np.save(folder / "X.npy", X)
rows = np.load(folder / "X.npy", mmap_mode="r")
train, test = slice(0, 100_000), slice(100_000, None)

# %%
# More landmarks, a smaller error. The noise has a standard deviation of 0.1, which nobody can
# beat. The certificate says that each answer is the best one for its landmarks.
counts = (25, 50, 100, 200, 400)
errors = []
for count in counts:
    model = StreamedRidge(0.1, kernel=RBF(gamma=0.5), approximation=count).fit(
        rows[train], y[train]
    )
    errors.append(float(np.sqrt(np.mean((model.predict(rows[test]) - y[test]) ** 2))))
    proof = model.certificate_
    print(f"{count} landmarks: {proof.iterations} steps, relative gap {proof.relative_gap:.0e}")

# %%
# A checkpoint holds the sums that all passes have returned. A fit that was killed reads them and
# goes on where it was; one that came to its end has nothing left to do.
path = folder / "fit.checkpoint"
settings = {"kernel": RBF(gamma=0.5), "approximation": 200, "checkpoint": str(path)}
first = StreamedRidge(0.1, **settings).fit(rows[train], y[train])
again = StreamedRidge(0.1, **settings).fit(rows[train], y[train])
print(f"{first.certificate_.kernel_evaluations:,} kernel values, then")
print(f"{again.certificate_.kernel_evaluations:,}: all sums were in the file")

# %%
# The last machine along one column, the others held at 0, beside one with few landmarks.
line = np.zeros((200, 3))
line[:, 0] = np.linspace(-3, 3, 200)
few = StreamedRidge(0.1, kernel=RBF(gamma=0.5), approximation=50).fit(rows[train], y[train])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(counts, errors, "o-")
left.axhline(0.1, color="0.5", linestyle=":", label="noise")
left.set(xlabel="landmarks", ylabel="error on new rows", ylim=(0, None))
left.legend()
right.plot(line[:, 0], np.sin(2 * line[:, 0]), color="0.5", linestyle=":", label="truth")
right.plot(line[:, 0], few.predict(line), label="50 landmarks")
right.plot(line[:, 0], model.predict(line), label="400 landmarks")
right.set(xlabel="first column")
right.legend(loc="upper right", fontsize=8)
plt.show()

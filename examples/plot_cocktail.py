"""
The cocktail party
==================

Two people speak and a tune plays, all at once; three microphones hear three mixtures. The sources
come back from the mixtures alone, because they are independent and none is Gaussian. (Lecture 000,
figures 22 and 23.)
"""

import base64
import gzip
import io
import wave
from importlib import resources

import matplotlib.pyplot as plt
import numpy as np

from mercer import ICA, independence

# %%
# Two sentences of the CMU ARCTIC recordings, at 8,000 samples a second, and a tune of four notes.
rate = 8000
raw = gzip.decompress(resources.files("mercer.data").joinpath("voices.i16.gz").read_bytes())
voices = np.frombuffer(raw, dtype="<i2").reshape(2, -1).astype(float)
seconds = np.arange(voices.shape[1]) / rate
notes = np.array([262.0, 330.0, 392.0, 523.0])[(seconds * 2).astype(int) % 4]
tune = np.sin(2 * np.pi * notes * seconds) * np.exp(-3 * (seconds % 0.5))
S = np.column_stack([*voices, tune])
S /= S.std(axis=0)
A = np.array([[1.0, 0.8, 0.6], [0.6, 1.0, 0.9], [0.9, 0.4, 1.0]])
X = S @ A.T

# %%
# The distance of Amari is 0 for a perfect separation, whatever order and sign.
model = ICA(random_state=0)
found = model.fit_transform(X)
print(f"Amari distance {independence.amari_distance(model.components_, A):.4f}")
print(f"slope left {model.gradient_:.1e} after {model.n_iter_} steps")
match = np.abs(np.corrcoef(S.T, found.T)[:3, 3:])
print("correlation of each source with the one found:", match.max(axis=1).round(4))
found = found[:, match.argmax(axis=1)]


# %%
# Listen: what the first microphone hears, and the two voices found.
class Players:
    """Sounds that a notebook or a web page shows with buttons to play them."""

    def __init__(self, **sounds):
        self.sounds = sounds

    def _repr_html_(self):
        rows = []
        for name, sound in self.sounds.items():
            file = io.BytesIO()
            with wave.open(file, "wb") as out:
                out.setparams((1, 2, rate, 0, "NONE", "not compressed"))
                out.writeframes((sound / abs(sound).max() * 32_000).astype("<i2").tobytes())
            data = base64.b64encode(file.getvalue()).decode()
            label = name.replace("_", " ")
            rows.append(
                f'<p>{label}<br><audio controls aria-label="{label}" '
                f'src="data:audio/wav;base64,{data}"></audio></p>'
            )
        return "".join(rows)


Players(microphone=X[:, 0], first_voice=found[:, 0], second_voice=found[:, 1])

# %%
# Spectrograms: which frequencies sound when.
figure, axes = plt.subplots(3, 3, figsize=(10, 6), layout="constrained", sharex=True, sharey=True)
colours = plt.get_cmap("magma", 16)
names = ("first voice", "second voice", "tune")
for row, name in enumerate(names):
    columns = (
        (f"source: {name}", S),
        (f"microphone {row + 1}", X),
        (f"found: {name}", found),
    )
    for axis, (title, data) in zip(axes[row], columns, strict=True):
        sound = data[:, row] / data[:, row].std()
        axis.specgram(sound, NFFT=256, noverlap=0, Fs=rate, vmin=-90, vmax=-25, cmap=colours)
        axis.set(title=title, ylim=(0, 3000))
    axes[row, 0].set_ylabel("frequency in Hz")
for axis in axes[-1]:
    axis.set_xlabel("seconds")

# %%
# Before and after
# ----------------
# The clouds of two sources, of two mixtures, of the same after whitening, and of the sources that
# were found. Independent sources fill a square; mixing shears it, and makes each column more like a
# Gaussian (the histograms); whitening leaves a rotation to find. (Lecture 000, figures 22 and 23.)
random = np.random.default_rng(0)
squares = random.uniform(-1, 1, size=(3000, 2))
mixed = squares @ np.array([[1.0, 0.7], [0.4, 1.0]]).T
flat = ICA(random_state=0).fit(mixed)
clouds = {
    "sources": squares,
    "mixed": mixed,
    "whitened": (mixed - flat.mean_) @ flat.whitening_.T,
    "found": flat.transform(mixed),
}
figure, panels = plt.subplots(2, 4, figsize=(12, 5), layout="constrained", height_ratios=[2, 1])
bell = np.linspace(-3, 3, 121)
for (title, data), above, below in zip(clouds.items(), *panels, strict=True):
    scaled = (data - data.mean(axis=0)) / data.std(axis=0)
    above.plot(*scaled.T, ".", ms=2, alpha=0.4)
    above.set(title=title, xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    below.hist(scaled[:, 0], 40, density=True, color="C0", alpha=0.4)
    below.plot(bell, np.exp(-(bell**2) / 2) / np.sqrt(2 * np.pi), color="C1", lw=1)
    below.set(xlim=(-3, 3), yticks=[])
panels[1, 0].annotate("Gaussian", (1.75, 0.2), color="C1", fontsize=8)

# %%
# The model draws the same: mixtures with the direction of each source, and the sources.
flat.plot(mixed)

# %%
# Why it works: mixtures of sources are nearer to Gaussians than the sources are. The clouds of two
# mixtures, of the same after whitening, and of two sources.
white = (X - model.mean_) @ model.whitening_.T
figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")
for axis, (title, data) in zip(
    axes, (("mixtures", X), ("whitened", white), ("found", found)), strict=False
):
    axis.plot(*(data[::5, :2] / data[:, :2].std(axis=0)).T, ".", ms=1.5, alpha=0.3)
    axis.set(title=title, xlim=(-5, 5), ylim=(-5, 5), aspect="equal")
grid = np.linspace(-5, 5, 101)
for name, data in (("a microphone", X), ("a voice", found)):
    values = data[:, 0] / data[:, 0].std()
    axes[3].hist(values, grid, density=True, histtype="step", label=name)
axes[3].plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), "k--", lw=1, label="Gaussian")
axes[3].legend(loc="upper right", fontsize=8)
axes[3].set(title="Densities", xlim=(-4, 4))
plt.show()

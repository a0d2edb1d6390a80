// ---- independent components: two mixed sounds, and the way back ----------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const RATE = 8000, COUNT = 4000; // half a second, in which every sound is periodic
  const part = (v) => v - Math.floor(v);

  // Frequencies without a small common measure: sounds in harmony would not be independent.
  // Each sound with its formula in JavaScript and in Python; t is in seconds.
  const SOUNDS = {
    flute: { name: "flute (sine)", play: (t) => Math.sin(2 * Math.PI * 262 * t), python: "np.sin(2 * np.pi * 262 * t)" },
    violin: { name: "violin (sawtooth)", play: (t) => 2 * part(330 * t) - 1, python: "2 * (330 * t % 1) - 1" },
    clarinet: { name: "clarinet (square)", play: (t) => (part(196 * t) < 0.5 ? 1 : -1), python: "np.where(196 * t % 1 < 0.5, 1.0, -1.0)" },
    harp: { name: "harp (plucked)", play: (t) => Math.sin(2 * Math.PI * 494 * t) * Math.exp(-6 * part(4 * t)), python: "np.sin(2 * np.pi * 494 * t) * np.exp(-6 * (4 * t % 1))" },
  };
  const NAMES = Object.entries(SOUNDS).map(([key, { name }]) => [key, name]);
  const wave = (key) => Float64Array.from({ length: COUNT }, (_, i) => SOUNDS[key].play(i / RATE));
  const mean = (values, of) => { let sum = 0; for (let i = 0; i < values.length; i++) sum += of(i); return sum / values.length; };
  // log cosh without overflow, and its mean for a Gaussian variable (by Gauss and Hermite).
  const logCosh = (v) => Math.abs(v) + Math.log1p(Math.exp(-2 * Math.abs(v))) - Math.LN2;
  const GAUSSIAN = 0.3745672074914379;

  function compute(state) {
    const S = [wave(state.first), wave(state.second)], A = [[1 - state.left, state.left], [state.right, 1 - state.right]];
    const X = A.map(([a, b]) => S[0].map((v, i) => a * v + b * S[1][i]));
    const means = X.map((x) => mean(x, (i) => x[i]));
    const C = [0, 1, 1, 2].map((k) => {
      const [p, q] = [[0, 0], [0, 1], [1, 1]][k];
      return mean(X[0], (i) => (X[p][i] - means[p]) * (X[q][i] - means[q]));
    });
    const { values, vectors } = lab.linalg.eigen(C, 2);
    if (state.first === state.second || !(values[1] > 1e-10 * values[0])) return { S, X, lacking: true };
    const whitening = vectors.map((v, k) => Array.from(v, (e) => e / Math.sqrt(values[k])));
    const apply = (M) => M.map(([a, b]) => X[0].map((v, i) => a * (v - means[0]) + b * (X[1][i] - means[1])));
    const Z = apply(whitening);
    // After whitening only a rotation is left: one angle.
    const turned = (angle) => {
      const c = Math.cos(angle), s = Math.sin(angle);
      return [Z[0].map((v, i) => c * v + s * Z[1][i]), Z[1].map((v, i) => c * v - s * Z[0][i])];
    };
    const contrast = (angle) => {
      const Y = turned(angle);
      return Y.reduce((sum, y) => sum + Math.abs(mean(y, (i) => logCosh(y[i])) - GAUSSIAN), 0);
    };
    let best = 0, most = -1;
    for (let k = 0; k < 45; k++) {
      const angle = (k * Math.PI) / 90, value = contrast(angle);
      if (value > most) [best, most] = [angle, value];
    }
    // The slope of the contrast: zero where E[g(y₁)y₂] and E[g(y₂)y₁] balance, g = tanh.
    const slope = (angle) => {
      const [u, v] = turned(angle), sides = [u, v].map((y) => Math.sign(mean(y, (i) => logCosh(y[i])) - GAUSSIAN));
      return sides[0] * mean(u, (i) => Math.tanh(u[i]) * v[i]) - sides[1] * mean(v, (i) => Math.tanh(v[i]) * u[i]);
    };
    let low = best - Math.PI / 90, high = best + Math.PI / 90;
    const sign = Math.sign(slope(low));
    if (sign !== Math.sign(slope(high))) {
      for (let k = 0; k < 60; k++) {
        const middle = (low + high) / 2;
        if (Math.sign(slope(middle)) === sign) low = middle; else high = middle;
      }
      best = (low + high) / 2;
    }
    const c = Math.cos(best), s = Math.sin(best), R = [[c, s], [-s, c]];
    const W = R.map(([a, b]) => [a * whitening[0][0] + b * whitening[1][0], a * whitening[0][1] + b * whitening[1][1]]);
    return order({ S, X, Z, A, W, Y: apply(W), angle: best, contrast: contrast(best), slope: slope(best) });
  }

  /** Which source is which, and its sign, nobody can hear: here as the first sound, upright. */
  function order(found) {
    const { S, Y } = found;
    const centred = S.map((s) => { const m = mean(s, (i) => s[i]); return s.map((v) => v - m); });
    const like = Y.map((y) => centred.map((s) => mean(y, (i) => y[i] * s[i]) / Math.sqrt(mean(s, (i) => s[i] ** 2))));
    const swap = Math.abs(like[0][1]) + Math.abs(like[1][0]) > Math.abs(like[0][0]) + Math.abs(like[1][1]);
    const places = swap ? [1, 0] : [0, 1], signs = places.map((p, k) => Math.sign(like[p][k]) || 1);
    const upright = (rows) => places.map((p, k) => rows[p].map((v) => signs[k] * v));
    return { ...found, W: upright(found.W), Y: upright(found.Y), likeness: places.map((p, k) => signs[k] * like[p][k]) };
  }

  // ---- sound
  let context = null, playing = null;
  function play(samples) {
    context ||= new AudioContext();
    playing?.stop();
    const buffer = context.createBuffer(1, 3 * COUNT, RATE), out = buffer.getChannelData(0);
    const loudest = samples.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-9);
    for (let i = 0; i < out.length; i++) {
      const fade = Math.min(1, i / 200, (out.length - i) / 200); // without clicks at both ends
      out[i] = (0.25 * fade * samples[i % COUNT]) / loudest;
    }
    playing = context.createBufferSource();
    playing.buffer = buffer;
    playing.connect(context.destination);
    playing.start();
    lab.played = out; // what was sent to the speaker, for tests
  }

  function cloud(plot, [u, v], x0, size, title, axes, reach) {
    const middle = size / 2, at = (a, b) => [x0 + middle + (a / reach) * middle, 24 + middle - (b / reach) * middle];
    lab.svg.make("rect", { x: x0 + 1, y: 24, width: size - 2, height: size, class: "inset" }, plot.lines);
    const dots = [];
    for (let i = 0; i < COUNT; i += 5) {
      const [px, py] = at(u[i], v[i]);
      dots.push(`M${px.toFixed(1)} ${py.toFixed(1)}h.01`);
    }
    lab.svg.make("path", { d: dots.join(""), class: "dots g0" }, plot.lines);
    for (const [k, [a, b]] of axes.entries()) {
      const long = reach / Math.max(Math.abs(a), Math.abs(b), 1e-9), [p, q] = [at(-long * a, -long * b), at(long * a, long * b)];
      lab.svg.make("path", { d: `M${p.map((t) => t.toFixed(1)).join(" ")}L${q.map((t) => t.toFixed(1)).join(" ")}`, class: `line g${k + 1}` }, plot.lines);
    }
    plot.text(x0 + 4, 16, title, "name");
  }

  function strip(plot, samples, y, height, title, style) {
    const shown = 320, most = samples.reduce((m, v) => Math.max(m, Math.abs(v)), 1e-9), x0 = 96;
    plot.text(6, y + 4, title, "tick");
    const d = Array.from({ length: shown }, (_, i) => `${i ? "L" : "M"}${(x0 + ((plot.width - x0 - 8) * i) / (shown - 1)).toFixed(1)} ${(y - (0.42 * height * samples[i]) / most).toFixed(1)}`);
    lab.svg.make("path", { d: d.join(""), class: `thin ${style}` }, plot.lines);
  }

  function draw(plot, state, result) {
    const size = Math.min(plot.width / 3 - 6, 250), { X, Y, Z, W } = result;
    const far = (rows) => 1.08 * Math.max(...rows.map((row) => row.reduce((m, v) => Math.max(m, Math.abs(v)), 0)));
    const step = (plot.height - size - 44) / 4;
    if (!result.lacking) {
      // The columns of W⁻¹ are how each source sounds at the two microphones.
      const det = W[0][0] * W[1][1] - W[0][1] * W[1][0];
      const columns = [[W[1][1] / det, -W[1][0] / det], [-W[0][1] / det, W[0][0] / det]];
      const c = Math.cos(result.angle), s = Math.sin(result.angle);
      cloud(plot, X, 0, size, "mixed", columns, far(X));
      cloud(plot, Z, size + 8, size, "whitened", [[c, s], [-s, c]], far(Z));
      cloud(plot, Y, 2 * size + 16, size, "unmixed", [[1, 0], [0, 1]], far(Y));
    }
    [[X[0], "microphone 1", "g7"], [X[1], "microphone 2", "g7"], ...(result.lacking ? [] : [[Y[0], "source 1", "g1"], [Y[1], "source 2", "g2"]])]
      .forEach(([samples, title, style], k) => strip(plot, samples, size + 44 + (k + 0.5) * step, step, title, style));
  }

  return {
    id: "sources", name: "ICA", title: "Two mixed sounds, unmixed",
    lead: "Two instruments play, and two microphones each hear both. Nobody says where the instruments stand or what they play. That the two are independent, and not Gaussian, is enough to tell them apart.",
    picture: "The values of two microphones against each other, whitened, and unmixed; below them the waves",
    help: "The lines show the directions of the two sources. Listen to the microphones, and to what was found: all sounds last for a second and a half.",
    bounds: { x: [0, 1], y: [0, 1], ratio: 0.72, tall: 400 },
    start: () => ({ first: "flute", second: "violin", left: 0.35, right: 0.4 }),
    controls: [
      { kind: "choice", key: "first", label: "First instrument", options: NAMES },
      { kind: "choice", key: "second", label: "Second instrument", options: NAMES },
      { kind: "slider", key: "left", label: "Second, at microphone 1", low: 0.05, high: 0.45, step: 0.01 },
      { kind: "slider", key: "right", label: "First, at microphone 2", low: 0.05, high: 0.45, step: 0.01 },
      { kind: "buttons", options: [["Play microphone 1", (state, result) => play(result.X[0])], ["Play microphone 2", (state, result) => play(result.X[1])]] },
      { kind: "buttons", options: [["Play source 1", (state, result) => play((result.Y || result.X)[0])], ["Play source 2", (state, result) => play((result.Y || result.X)[1])]] },
    ],
    compute, draw,
    words: (state, result) => result.lacking
      ? "The instruments have to be different: two equal sounds are one."
      : `Source 1 is ${number(100 * result.likeness[0], 5)} % like the ${state.first} and source 2 is ${number(100 * result.likeness[1], 5)} % like the ${state.second}.`,
    numbers: (state, result) => result.lacking ? [] : [
      { name: "Angle of the rotation", key: "angle", value: result.angle, text: `${number((180 * result.angle) / Math.PI, 4)}°` },
      { name: "Contrast", key: "contrast", value: result.contrast },
      { name: "Unmixing of source 1", key: "unmixing-1", value: result.W[0], text: result.W[0].map((v) => number(v, 3)).join(", ") },
      { name: "Unmixing of source 2", key: "unmixing-2", value: result.W[1], text: result.W[1].map((v) => number(v, 3)).join(", ") },
      { name: "Slope of the contrast", key: "slope", value: Math.abs(result.slope), residual: true },
    ],
    formula: () => `
      <p>x = As, &nbsp; y = Wx, &nbsp; W = R C<sup>−1/2</sup> with a rotation R</p>
      <p>max Σ |E log cosh y<sub>i</sub> − E log cosh ν|, &nbsp; ν Gaussian</p>
      <p class="quiet">Whitening makes both values uncorrelated with variance 1; what is left is one angle. A mixture is nearer to a Gaussian than its parts are, so the angle at which both values are farthest from it gives the sources back, up to their order, sign and loudness (Comon, 1994; Hyvärinen, 1999).</p>`,
    python: (state) => `import numpy as np
from mercer import FastICA

t = np.arange(${COUNT}) / ${RATE}
first = ${SOUNDS[state.first].python}
second = ${SOUNDS[state.second].python}
A = np.array([[${1 - state.left}, ${state.left}], [${state.right}, ${1 - state.right}]])
X = np.column_stack([first, second]) @ A.T
model = FastICA(random_state=0, tol=1e-12).fit(X)

model.components_  # W, in any order and with any sign
Y = model.transform(X)  # the sources`,
  };
})());

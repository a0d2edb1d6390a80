// ---- a network of two layers, learning, with its gradients checked -------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const MOST = 600, STEP = 1e-5; // steps of learning; of a difference quotient, near the cube root of the rounding

  const SETS = {
    ring: (random, side) => {
      const angle = 2 * Math.PI * random.uniform(), radius = side > 0 ? 0.7 * Math.sqrt(random.uniform()) : 2 + 0.5 * random.uniform();
      return [1.2 * radius * Math.cos(angle), radius * Math.sin(angle)];
    },
    corners: (random, side) => {
      const first = random.uniform() < 0.5 ? 1 : -1;
      return [1.7 * first + 0.45 * random.normal(), 1.3 * first * side + 0.45 * random.normal()];
    },
    halves: (random, side) => [1.2 * side + 0.8 * random.normal(), 0.6 * side + 0.8 * random.normal()],
  };

  function points(name) {
    const random = lab.random(3), into = (v, most) => Math.round(100 * Math.max(-most, Math.min(most, v))) / 100;
    return Array.from({ length: 40 }, (_, i) => {
      const side = i % 2 ? -1 : 1, [x, y] = SETS[name](random, side);
      return [into(x, 3.9), into(y, 2.9), side];
    });
  }

  // All weights in one vector: W (2 × H), v (H), then the biases a (H) and b, as in Python.
  const size = (H) => 4 * H + 1;
  function first(H, seed) {
    const random = lab.random(100 + seed);
    return Float64Array.from({ length: size(H) }, () => Math.round(160 * (2 * random.uniform() - 1)) / 100);
  }

  const logOnePlusExp = (z) => (z > 0 ? z + Math.log1p(Math.exp(-z)) : Math.log1p(Math.exp(z)));

  /** Return the mean loss of the weights; where `slopes` is given, its gradient too, layer by layer back. */
  function look(theta, H, X, y, slopes = null) {
    let loss = 0;
    slopes?.fill(0);
    const hidden = new Float64Array(H), n = X.length;
    for (let i = 0; i < n; i++) {
      let z = theta[4 * H];
      for (let h = 0; h < H; h++) {
        hidden[h] = Math.tanh(X[i][0] * theta[h] + X[i][1] * theta[H + h] + theta[3 * H + h]);
        z += theta[2 * H + h] * hidden[h];
      }
      loss += logOnePlusExp(y[i] > 0 ? -z : z) / n;
      if (!slopes) continue;
      const delta = (1 / (1 + Math.exp(-z)) - (y[i] > 0 ? 1 : 0)) / n;
      slopes[4 * H] += delta;
      for (let h = 0; h < H; h++) {
        const back = delta * theta[2 * H + h] * (1 - hidden[h] ** 2);
        slopes[2 * H + h] += delta * hidden[h];
        slopes[h] += back * X[i][0];
        slopes[H + h] += back * X[i][1];
        slopes[3 * H + h] += back;
      }
    }
    return loss;
  }

  function compute(state) {
    const X = state.points.map(([x, y]) => [x, y]), y = state.points.map((point) => point[2]), H = state.hidden;
    if (!y.includes(1) || !y.includes(-1)) return { lacking: true, losses: [] };
    const start = first(H, state.seed), theta = start.slice(), slopes = new Float64Array(size(H)), losses = [];
    for (let k = 0; k < state.step; k++) {
      losses.push(look(theta, H, X, y, slopes));
      for (let t = 0; t < theta.length; t++) theta[t] -= state.rate * slopes[t];
    }
    const loss = look(theta, H, X, y, slopes);
    losses.push(loss);
    // The same slopes by differences of the loss, without the chain rule.
    let apart = 0, steepest = 0;
    const differences = slopes.map((slope, t) => {
      const kept = theta[t];
      theta[t] = kept + STEP;
      const above = look(theta, H, X, y);
      theta[t] = kept - STEP;
      const below = look(theta, H, X, y);
      theta[t] = kept;
      const found = (above - below) / (2 * STEP);
      apart = Math.max(apart, Math.abs(found - slope));
      steepest = Math.max(steepest, Math.abs(slope));
      return found;
    });
    const value = ([u, v]) => {
      let z = theta[4 * H];
      for (let h = 0; h < H; h++) z += theta[2 * H + h] * Math.tanh(u * theta[h] + v * theta[H + h] + theta[3 * H + h]);
      return z;
    };
    const wrong = X.filter((x, i) => y[i] * value(x) <= 0).length;
    return { H, start, theta, slopes, differences, loss, losses, apart, steepest, value, wrong };
  }

  function draw(plot, state, result) {
    plot.grid();
    if (result.lacking) return;
    const { value, theta, H, losses } = result, mesh = plot.mesh(), values = new Float64Array(mesh.xs.length * mesh.ys.length);
    let k = 0;
    for (const v of mesh.ys) for (const u of mesh.xs) values[k++] = value([u, v]);
    plot.paint(mesh, values.map((z) => z / 2), lab.Plot.twoSides());
    // Each neuron has a line where it is zero; the second layer bends them into the boundary.
    for (let h = 0; h < H; h++) {
      const line = new Float64Array(values.length);
      k = 0;
      for (const v of mesh.ys) for (const u of mesh.xs) line[k++] = u * theta[h] + v * theta[H + h] + theta[3 * H + h];
      plot.contour(mesh, line, 0, "thin dashed g2");
    }
    plot.contour(mesh, values, 0, "level boundary");
    if (losses.length < 2) return;
    // The loss so far, in a corner.
    const w = Math.min(170, plot.width / 3), h = w / 2.2, x0 = plot.width - w - 10, y0 = 10, most = Math.max(...losses);
    lab.svg.make("rect", { x: x0, y: y0, width: w, height: h, rx: 4, class: "inset" }, plot.lines);
    const d = losses.map((v, i) => `${i ? "L" : "M"}${(x0 + 6 + ((w - 12) * i) / (losses.length - 1)).toFixed(1)} ${(y0 + h - 5 - ((h - 24) * v) / most).toFixed(1)}`);
    lab.svg.make("path", { d: d.join(""), class: "line g0" }, plot.lines);
    plot.text(x0 + 6, y0 + 14, "loss", "tick");
  }

  const list = (values) => `[${Array.from(values).join(", ")}]`;
  return {
    id: "network", name: "Network", title: "A network of two layers, and its gradients checked",
    lead: "Each neuron of the first layer draws a line, the second layer weighs them. All weights go downhill together, by slopes that the chain rule gives layer by layer, from the loss back. Differences of the loss give the same slopes.",
    picture: "Points of two classes, the lines of the neurons, the boundary of the network and its loss so far",
    help: "Dashed: where a neuron of the first layer is zero. Corner: the loss at each step. " + lab.keys(2),
    bounds: { x: [-4, 4], y: [-3, 3] },
    most: 80,
    start: () => ({ data: "ring", hidden: 4, rate: 1, step: 150, seed: 1, tool: "1", points: points("ring") }),
    controls: [
      { kind: "choice", key: "data", label: "Data", then: (state) => { state.points = points(state.data); }, options: [["ring", "a ring"], ["corners", "corners"], ["halves", "two halves"]] },
      { kind: "slider", key: "hidden", label: "Neurons in the first layer", low: 1, high: 8, step: 1 },
      { kind: "slider", key: "rate", label: "Rate of learning", low: 0.01, high: 5, log: true },
      { kind: "slider", key: "step", label: "Steps so far", low: 0, high: MOST, step: 1 },
      { kind: "buttons", options: [
        ["One step", (state) => { state.step = Math.min(MOST, state.step + 1); }],
        ["Other first weights", (state) => { state.seed = (state.seed % 99) + 1; }]] },
      { kind: "radios", key: "tool", label: "A click", options: [["1", "adds ●"], ["-1", "adds ■"], ["remove", "removes"]] },
    ],
    compute, draw,
    describe: (state, result, i) => {
      const side = state.points[i][2] > 0 ? "round class" : "square class";
      return result.lacking ? side : `${side}, log odds ${number(result.value(state.points[i]), 3)}`;
    },
    words: (state, result) => result.lacking
      ? "Both classes need a point. Click into the picture to add one."
      : `After ${state.step} steps the loss is ${number(result.loss)}, and ${result.wrong} of ${state.points.length} points are on the wrong side. Both ways to the slopes differ by ${number(result.apart, 2)}.`,
    numbers: (state, result) => result.lacking ? [] : [
      { name: "Loss", key: "loss", value: result.loss, text: number(result.loss, 6) },
      { name: "Steepest slope", key: "steepest", value: result.steepest },
      { name: "Weights", key: "count", value: result.theta.length },
      { name: "Points on the wrong side", key: "wrong", value: result.wrong },
      { name: "Chain rule against differences", key: "apart", value: result.apart, residual: true },
    ],
    formula: () => `
      <p>z = v·tanh(Wᵀx + a) + b, &nbsp; P(●|x) = 1/(1 + e<sup>−z</sup>)</p>
      <p>L = mean of log(1 + e<sup>−yz</sup>), &nbsp; θ ← θ − η ∇L</p>
      <p>δ = P − [y = ●], &nbsp; ∂L/∂v = mean of δ h, &nbsp; ∂L/∂W = mean of x (δ v (1 − h²))ᵀ, &nbsp; h = tanh(Wᵀx + a)</p>
      <p class="quiet">The loss has many minima, so that other first weights may end elsewhere; a rate that is too high makes it rise. Checked at every step: each slope against (L(θ + εe) − L(θ − εe))/2ε (Rumelhart, Hinton and Williams, 1986).</p>`,
    python: (state, result) => {
      const H = state.hidden, start = result.start || first(H, state.seed), part = (from, to) => list(start.slice(from, to));
      return `import numpy as np
from mercer.problems.backpropagation import Backpropagation, Network

X = np.array(${lab.python.rows(state.points)})
y = np.array(${lab.python.list(state.points.map((point) => Number(point[2] > 0)))}, dtype=float)[:, None]
network = Network([2, ${H}, 1], "tanh", "logistic")
W = np.array([${part(0, H)},
              ${part(H, 2 * H)}])
v = np.array(${part(2 * H, 3 * H)})[:, None]
network.load([W, v], [${part(3 * H, 4 * H)}, ${part(4 * H, 4 * H + 1)}])
slopes = Backpropagation(network, len(X))
for _ in range(${state.step}):
    slopes(X, y, np.empty(0))
    network.theta -= ${state.rate} * slopes.gradient / len(X)
loss = slopes(X, y, np.empty(0)) / len(X)
gradient = slopes.gradient / len(X)`;
    },
  };
})());

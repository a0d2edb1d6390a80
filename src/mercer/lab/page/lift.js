// ---- the kernel trick: a plane in three dimensions -----------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const round = (v) => Math.round(100 * v) / 100;

  const SETS = {
    xor: {
      name: "exclusive or", feature: ([x, y]) => x * y, formula: "x₁x₂", python: "X[:, 0] * X[:, 1]",
      rows: (random) => Array.from({ length: 28 }, (_, i) => {
        const kind = i % 2 ? -1 : 1, side = i % 4 < 2 ? 1 : -1;
        return [round(side + 0.22 * random.normal()), round(side * kind + 0.22 * random.normal()), kind];
      }),
    },
    ring: {
      name: "a ring", feature: ([x, y]) => x * x + y * y - 1, formula: "x₁² + x₂² − 1", python: "X[:, 0] ** 2 + X[:, 1] ** 2 - 1",
      rows: (random) => Array.from({ length: 28 }, (_, i) => {
        const kind = i % 2 ? -1 : 1, r = kind > 0 ? 0.45 * Math.sqrt(random.uniform()) : 1.25 + 0.12 * random.normal(), t = (i * 2 * Math.PI) / 28;
        return [round(r * Math.cos(t)), round(r * Math.sin(t)), kind];
      }),
    },
  };

  function compute(state) {
    const set = SETS[state.data], rows = set.rows(lab.random(11)), y = rows.map((row) => row[2]);
    const Z = rows.map((row) => [row[0], row[1], set.feature(row)]);
    const found = lab.svm.soft(lab.kernels.gram(lab.kernels.linear(), Z), y, state.C), w = [0, 0, 0];
    Z.forEach((z, i) => z.forEach((v, k) => { w[k] += found.beta[i] * v; }));
    return { set, rows, Z, y, w, ...found };
  }

  /** From three dimensions to the picture: turned about the upright axis, then tilted to the eye. */
  function camera(state) {
    const t = (state.turn * Math.PI) / 180, e = (state.tilt * Math.PI) / 180;
    return ([x, y, z]) => {
      const u = Math.cos(t) * x + Math.sin(t) * y, v = -Math.sin(t) * x + Math.cos(t) * y, h = 0.6 * state.lift * z; // flattened, so that the corners of the surface stay in sight
      return { at: [u, Math.sin(e) * v + Math.cos(e) * h], depth: Math.cos(e) * v - Math.sin(e) * h };
    };
  }

  function draw(plot, state, { set, Z, y, w, b, alpha }) {
    const see = camera(state), SIZE = 1.6, steps = 16;
    const at = (p) => see(p).at, edge = (i) => -SIZE + (2 * SIZE * i) / steps;
    // The floor is the plane that the points come from.
    plot.region([[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([u, v]) => at([SIZE * u, SIZE * v, 0])), "floor");
    for (const [from, to, name] of [[[-SIZE, 0, 0], [SIZE, 0, 0], "x₁"], [[0, -SIZE, 0], [0, SIZE, 0], "x₂"], [[0, 0, -1.6], [0, 0, 1.9], set.formula]]) {
      plot.line([at(from), at(to)], "axis");
      const [u, v] = at(to);
      plot.text(plot.X(u) + 5, plot.Y(v) - 5, name, "tick");
    }
    // The surface that the feature lifts the floor to.
    for (let i = 0; i <= steps; i += 2) {
      const along = (swap) => Array.from({ length: steps + 1 }, (_, j) => {
        const p = swap ? [edge(i), edge(j)] : [edge(j), edge(i)];
        return at([...p, set.feature(p)]);
      });
      plot.line(along(false), "thin g2 faint");
      plot.line(along(true), "thin g2 faint");
    }
    // The plane w·z + b = 0 as a net, within the box.
    if (Math.abs(w[2]) > 1e-9) {
      const height = (p) => -(b + w[0] * p[0] + w[1] * p[1]) / w[2];
      plot.region([[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([u, v]) => at([SIZE * u, SIZE * v, height([SIZE * u, SIZE * v])])), "plane");
    }
    const order = Z.map((z, i) => ({ i, ...see(z) })).sort((p, q) => q.depth - p.depth);
    for (const { i } of order) plot.line([at([Z[i][0], Z[i][1], 0]), at(Z[i])], `slack g${y[i] > 0 ? 0 : 1}`);
    for (const { i, at: [u, v] } of order) {
      const px = plot.X(u), py = plot.Y(v), d = y[i] > 0 ? "M-6 0A6 6 0 1 1 6 0A6 6 0 1 1 -6 0Z" : "M-5.5 -5.5H5.5V5.5H-5.5Z";
      const mark = lab.svg.make("g", { class: `g${y[i] > 0 ? 0 : 1}`, transform: `translate(${px.toFixed(1)} ${py.toFixed(1)})` }, plot.lines);
      lab.svg.make("path", { d, class: "shape" }, mark);
      if (alpha[i] > 0) lab.svg.make("circle", { r: 10, class: "ring" }, mark);
    }
  }

  return {
    id: "lift", name: "The kernel trick", title: "A plane where no line will do",
    lead: "No line separates these classes. One more feature lifts the points out of the plane, and there a flat plane does; seen from above its cut is a curve. A kernel does this without ever writing the features down.",
    picture: "Points lifted into three dimensions and the plane that separates them",
    help: "Drag the picture to turn it, or use the sliders. Tilt it to 90° to look from above, and set the lift to zero to go back to the plane.",
    bounds: { x: [-3.2, 3.2], y: [-2.3, 2.5] },
    turn: true,
    start: () => ({ data: "xor", lift: 1, turn: 30, tilt: 20, C: 10 }),
    controls: [
      { kind: "choice", key: "data", label: "Data", options: Object.entries(SETS).map(([key, set]) => [key, set.name]) },
      { kind: "slider", key: "lift", label: "Lift", low: 0, high: 1, step: 0.02 },
      { kind: "slider", key: "turn", label: "Turn, in degrees", low: -180, high: 180, step: 1 },
      { kind: "slider", key: "tilt", label: "Tilt, in degrees", low: 0, high: 90, step: 1 },
      { kind: "slider", key: "C", label: "C, the price of slack", low: 0.01, high: 1000, log: true },
    ],
    compute, draw,
    words: (state, result) => {
      const wrong = result.f.filter((v, i) => v * result.y[i] <= 0).length;
      return `${wrong ? `${wrong} points are` : "No point is"} on the wrong side of the plane; ${result.alpha.filter((a) => a > 0).length} support vectors hold it.`;
    },
    numbers: (state, result) => [
      { name: "Normal of the plane w", key: "normal", value: result.w, text: result.w.map((v) => number(v, 3)).join(", ") },
      { name: "Bias b", key: "bias", value: result.b },
      { name: "Primal value", key: "primal", value: result.primal, text: number(result.primal, 7) },
      { name: "Margin 1/‖w‖", key: "margin", value: result.margin },
      { name: "Relative gap", key: "gap", value: result.relativeGap, residual: true },
    ],
    formula: (state, { set }) => `
      <p>φ(x) = (x₁, x₂, ${set.formula}), &nbsp; f(x) = w·φ(x) + b</p>
      <p>k(x, z) = φ(x)·φ(z)</p>
      <p class="quiet">The machine needs inner products alone. A polynomial kernel has all products of its degree as features, a Gaussian one has infinitely many.</p>`,
    python: (state, { set, rows, y }) => `import numpy as np
from mercer import SVC, Linear

X = np.array(${lab.python.rows(rows)})
y = np.array(${lab.python.list(y)})
Z = np.column_stack([X, ${set.python}])  # lifted
model = SVC(Linear(), C=${state.C}, tol=1e-8).fit(Z, y)

model.coef_, model.intercept_  # the plane
model.certificate_`,
  };
})());

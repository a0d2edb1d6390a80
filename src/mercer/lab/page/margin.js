// ---- the widest margin ---------------------------------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;

  // Data to begin with; each is drawn anew from its seed, the same for everyone.
  const SETS = {
    clouds: (random) => cloud(random, 16, (s) => [1.5 * s, 0.7 * s], 0.75),
    overlap: (random) => cloud(random, 40, (s) => [0.8 * s, 0], 0.95),
    xor: (random) => cloud(random, 28, (s, i) => (i % 4 < 2 ? [1.6, 1.3 * s] : [-1.6, -1.3 * s]), 0.45),
    rings: (random) => cloud(random, 36, (s, i) => {
      const angle = (2 * Math.PI * i) / 36, r = s > 0 ? 0.6 : 2.2;
      return [r * Math.cos(angle), r * Math.sin(angle)];
    }, 0.18),
    many: (random) => cloud(random, 200, (s) => [1.1 * s, 0.4 * s], 1),
  };

  function cloud(random, count, centre, spread) {
    const into = (v, limit) => Math.round(100 * Math.max(-limit, Math.min(limit, v))) / 100;
    return Array.from({ length: count }, (_, i) => {
      const kind = i % 2 ? -1 : 1, [x, y] = centre(kind, i);
      return [into(x + spread * random.normal(), 3.9), into(y + spread * random.normal(), 2.9), kind];
    });
  }

  const points = (name) => SETS[name](lab.random(7));

  function compute(state, before) {
    const kernel = lab.kernels.chosen(state), X = state.points.map(([x, y]) => [x, y]);
    const y = state.points.map((point) => point[2]);
    if (!y.includes(1) || !y.includes(-1)) return { kernel, X, y, lacking: true };
    const K = lab.kernels.gram(kernel, X);
    // The last answer is near the next one while a point is dragged; where it does not fit the
    // constraints any more, the solver begins anew.
    const warm = before?.weights?.length === y.length && before.hard === state.hard ? before.weights : null;
    const found = state.hard ? lab.svm.hard(K, y, warm) : lab.svm.soft(K, y, state.C, warm);
    return { kernel, X, y, hard: state.hard, ...found };
  }

  const isSupport = (result, i) => result.alpha && result.alpha[i] > 0;
  const supports = (result) => result.alpha.filter((a) => a > 0).length;

  function draw(plot, state, result) {
    plot.grid();
    if (result.lacking) return;
    if (!result.separable) {
      const middle = [0, 0];
      result.X.forEach((x, i) => {
        if (result.hull[i] > 0) { middle[0] += result.hull[i] * x[0]; middle[1] += result.hull[i] * x[1]; }
      });
      if (state.kernel === "linear") {
        for (const i of result.X.keys()) {
          if (result.hull[i] !== 0) plot.line([result.X[i], middle], `slack g${result.y[i] > 0 ? 0 : 1}`);
        }
        plot.circle(middle[0], middle[1], 4, "meeting");
      }
      return;
    }
    const mesh = plot.mesh();
    const values = lab.kernels.onGrid(result.kernel, result.X, result.beta, result.b, mesh.xs, mesh.ys);
    plot.paint(mesh, values, lab.Plot.twoSides());
    plot.contour(mesh, values, 1, "level margin");
    plot.contour(mesh, values, -1, "level margin");
    plot.contour(mesh, values, 0, "level boundary");
    if (state.kernel === "linear" && !state.hard) {
      // The slack of a point is its way to the line of its own class.
      const w = [0, 0];
      result.X.forEach((x, i) => { w[0] += result.beta[i] * x[0]; w[1] += result.beta[i] * x[1]; });
      result.X.forEach((x, i) => {
        const way = (result.slack[i] * result.y[i]) / result.norm2;
        if (result.slack[i] > 1e-9) plot.line([x, [x[0] + way * w[0], x[1] + way * w[1]]], `slack g${result.y[i] > 0 ? 0 : 1}`);
      });
    }
    const few = supports(result) <= 24;
    result.X.forEach((x, i) => {
      if (!few || !isSupport(result, i)) return;
      const left = plot.X(x[0]) > plot.width - 60, top = plot.Y(x[1]) < 24;
      plot.text(plot.X(x[0]) + (left ? -11 : 11), plot.Y(x[1]) + (top ? 18 : -8), number(result.alpha[i], 2), left ? "alpha end" : "alpha");
    });
  }

  return {
    id: "margin", name: "Margin", title: "The widest margin",
    lead: "Of all lines between two classes a support vector machine takes the one with the widest margin. Move a point: only those on the margin, or on its wrong side, hold the line in place.",
    picture: "Points of two classes, the boundary between them and its margin",
    help: lab.keys(2),
    bounds: { x: [-4, 4], y: [-3, 3] },
    most: 200,
    start: () => ({ data: "clouds", kernel: "linear", hard: false, C: 1, width: 1, degree: 3, tool: "1", points: points("clouds") }),
    controls: [
      { kind: "choice", key: "data", label: "Data", then: (state) => { state.points = points(state.data); },
        options: [["clouds", "two clouds"], ["overlap", "clouds that overlap"], ["xor", "exclusive or"], ["rings", "a ring"], ["many", "200 points"]] },
      { kind: "choice", key: "kernel", label: "Kernel", options: [["linear", "linear"], ["rbf", "Gaussian (RBF)"], ["polynomial", "polynomial"]] },
      { kind: "tick", key: "hard", label: "Hard margin (C = ∞, no slack)" },
      { kind: "slider", key: "C", label: "C, the price of slack", low: 0.01, high: 1000, log: true, when: (state) => !state.hard },
      { kind: "slider", key: "width", label: "Width σ", low: 0.1, high: 10, log: true, when: (state) => state.kernel === "rbf" },
      { kind: "slider", key: "degree", label: "Degree", low: 2, high: 5, step: 1, when: (state) => state.kernel === "polynomial" },
      { kind: "radios", key: "tool", label: "A click", options: [["1", "adds ●"], ["-1", "adds ■"], ["remove", "removes"]] },
    ],
    compute,
    draw,
    look: (state, result, i) => ({
      style: isSupport(result, i) ? "support" : "",
      ring: isSupport(result, i) ? 10 : 0,
    }),
    describe: (state, result, i) => {
      const side = state.points[i][2] > 0 ? "round class" : "square class";
      if (!result.alpha) return side;
      return isSupport(result, i) ? `${side}, support vector with multiplier ${number(result.alpha[i])} and slack ${number(result.slack[i])}` : `${side}, no support vector`;
    },
    words: (state, result) => {
      if (result.lacking) return "Both classes need a point. Click into the picture to add one.";
      if (!result.separable) {
        const proof = state.kernel === "linear" ? " The dashed lines lead to a point that is a mean of either class." : "";
        return `No hyperplane separates the classes: their convex hulls meet in feature space.${proof} Take a finite C, or a kernel with more room.`;
      }
      const wrong = result.f.filter((v, i) => v * result.y[i] <= 0).length;
      return `${supports(result)} support vectors of ${result.y.length} points, ${wrong} on the wrong side. Proved to be optimal within ${number(Math.abs(result.relativeGap), 2)}.`;
    },
    numbers: (state, result) => {
      if (result.lacking || !result.separable) return [];
      return [
        { name: "Primal value", key: "primal", value: result.primal, text: number(result.primal, 7) },
        { name: "Dual value", key: "dual", value: result.dual, text: number(result.dual, 7) },
        { name: "Margin 1/‖w‖", key: "margin", value: result.margin },
        { name: "Sum of slacks Σξ", key: "slack", value: result.slack.reduce((sum, v) => sum + v, 0) },
        { name: "Relative gap", key: "gap", value: result.relativeGap, residual: true },
        { name: "Stationarity", key: "stationarity", value: result.stationarity, residual: true },
        { name: "Primal feasibility", key: "primal-feasibility", value: result.primalFeasibility, residual: true },
        { name: "Dual feasibility", key: "dual-feasibility", value: result.dualFeasibility, residual: true },
        { name: "Complementarity", key: "complementarity", value: result.complementarity, residual: true },
      ];
    },
    formula: (state, result) => `
      <p>${state.hard ? "min ½‖w‖² &nbsp; subject to &nbsp; y<sub>i</sub>(w·φ(x<sub>i</sub>) + b) ≥ 1"
        : "min ½‖w‖² + C Σ ξ<sub>i</sub> &nbsp; subject to &nbsp; y<sub>i</sub>(w·φ(x<sub>i</sub>) + b) ≥ 1 − ξ<sub>i</sub>, &nbsp;ξ<sub>i</sub> ≥ 0"}</p>
      <p>max Σ α<sub>i</sub> − ½ Σ α<sub>i</sub>α<sub>j</sub>y<sub>i</sub>y<sub>j</sub>k(x<sub>i</sub>, x<sub>j</sub>) &nbsp; subject to &nbsp; ${state.hard ? "α<sub>i</sub> ≥ 0" : "0 ≤ α<sub>i</sub> ≤ C"}, &nbsp;Σ α<sub>i</sub>y<sub>i</sub> = 0</p>
      <p>f(x) = Σ α<sub>i</sub>y<sub>i</sub>k(x<sub>i</sub>, x) + b, &nbsp; ${result.kernel.formula}</p>
      <p class="quiet">Any dual value is below the optimum, any primal value above it: the gap between the two proves the answer, whoever found it. A number beside a ringed point is its multiplier α.</p>`,
    python: (state, { kernel, y }) => `import numpy as np
from mercer import SVC, ${kernel.imports}

X = np.array(${lab.python.rows(state.points)})
y = np.array(${lab.python.list(y)})
model = SVC(${kernel.python}, C=${state.hard ? "np.inf" : state.C}, tol=1e-8).fit(X, y)

model.certificate_  # primal and dual value, gap, KKT residuals
model.alpha_  # the multipliers
model.slack_  # the slacks`,
  };
})());

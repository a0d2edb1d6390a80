// ---- ridge and lasso: a ball meets the contours --------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;

  /** min ½(w − c)ᵀG(w − c) + λ‖w‖₁ with G = [[1, ρ], [ρ, 1]]: the best of nine cases of signs. */
  function lasso(c, rho, lambda) {
    const g = [c[0] + rho * c[1], rho * c[0] + c[1]], det = 1 - rho * rho, cases = [[0, 0]];
    for (const s of [-1, 1]) {
      cases.push([g[0] - lambda * s, 0], [0, g[1] - lambda * s]);
      for (const t of [-1, 1]) {
        const u = g[0] - lambda * s, v = g[1] - lambda * t;
        cases.push([(u - rho * v) / det, (v - rho * u) / det]);
      }
    }
    const cost = (w) => misfit(w, c, rho) + lambda * (Math.abs(w[0]) + Math.abs(w[1]));
    return cases.reduce((best, w) => (cost(w) < cost(best) ? w : best));
  }

  /** min ½(w − c)ᵀG(w − c) + ½λ‖w‖²: (G + λI)w = Gc. */
  function ridge(c, rho, lambda) {
    const g = [c[0] + rho * c[1], rho * c[0] + c[1]], d = 1 + lambda, det = d * d - rho * rho;
    return [(d * g[0] - rho * g[1]) / det, (d * g[1] - rho * g[0]) / det];
  }

  function misfit(w, c, rho) {
    const u = w[0] - c[0], v = w[1] - c[1];
    return 0.5 * (u * u + v * v + 2 * rho * u * v);
  }

  const SOLVE = { ridge, lasso };
  const isLasso = (state) => state.penalty === "lasso";

  function compute(state) {
    const c = state.points[0].slice(0, 2), w = SOLVE[state.penalty](c, state.rho, state.lambda);
    const u = c[0] - w[0], v = c[1] - w[1];
    // λ from large to small: the way from nothing to least squares.
    const path = Array.from({ length: 121 }, (_, i) => SOLVE[state.penalty](c, state.rho, 10 ** (2 - i / 24)));
    return {
      c, w, path, misfit: misfit(w, c, state.rho), pull: [u + state.rho * v, v + state.rho * u],
      radius: isLasso(state) ? Math.abs(w[0]) + Math.abs(w[1]) : Math.hypot(w[0], w[1]),
    };
  }

  function draw(plot, state, { c, w, path, misfit: level, radius }) {
    plot.grid("w₁", "w₂");
    const ellipse = (size) => {
      // Along (1, 1) the form is 1 + ρ, along (1, −1) it is 1 − ρ.
      const a = Math.sqrt(size / (1 + state.rho)), b = Math.sqrt(size / (1 - state.rho));
      return Array.from({ length: 121 }, (_, i) => {
        const t = (i * Math.PI) / 60, p = a * Math.cos(t), q = b * Math.sin(t);
        return [c[0] + p + q, c[1] + p - q];
      });
    };
    for (const share of [0.2, 0.5, 1.6, 2.4]) plot.line(ellipse(level * share), "thin g1 faint");
    plot.line(ellipse(level), "line g1");
    const ball = isLasso(state)
      ? [[radius, 0], [0, radius], [-radius, 0], [0, -radius]]
      : Array.from({ length: 120 }, (_, i) => [radius * Math.cos((i * Math.PI) / 60), radius * Math.sin((i * Math.PI) / 60)]);
    plot.region(ball, "ball");
    plot.line(path, "line g2 dashed");
    plot.circle(w[0], w[1], 5.5, "meeting");
    plot.text(plot.X(w[0]) + 10, plot.Y(w[1]) + 18, "w", "alpha");
    plot.text(plot.X(c[0]) + 12, plot.Y(c[1]) - 10, "least squares", "alpha");
  }

  return {
    id: "balls", name: "Ridge and lasso", title: "A ball meets the contours",
    lead: "Least squares sits in the middle of its contours. A penalty lets the weights go only as far as a ball: round for ridge, with corners for the lasso. Where contour and ball touch is the answer, and a corner has a weight that is exactly zero.",
    picture: "Contours of the squared error, the ball of the penalty and the point where they touch",
    help: "Drag the least-squares solution. Keys: Tab to it, arrows move it (Shift: finely). Dashed: the way of the answer as λ falls.",
    bounds: { x: [-4, 4], y: [-3, 3] },
    fixed: true,
    start: () => ({ penalty: "lasso", lambda: 1.2, rho: 0.4, points: [[0.7, 1.9, 0]] }),
    controls: [
      { kind: "radios", key: "penalty", label: "Penalty", options: [["ridge", "ridge"], ["lasso", "lasso"]] },
      { kind: "slider", key: "lambda", label: "Strength λ", low: 0.01, high: 10, log: true },
      { kind: "slider", key: "rho", label: "Correlation ρ of the columns", low: -0.9, high: 0.9, step: 0.05 },
    ],
    compute, draw,
    describe: () => "least-squares solution",
    words: (state, { w }) => {
      const zeros = w.filter((v) => v === 0).length;
      const end = zeros === 2 ? "Both weights are zero." : zeros ? "One weight is exactly zero." : "No weight is zero.";
      return `w = (${number(w[0], 4)}, ${number(w[1], 4)}). ${end}`;
    },
    numbers: (state, { w, misfit: level, radius, pull }) => [
      { name: "Weight w₁", key: "w1", value: w[0] },
      { name: "Weight w₂", key: "w2", value: w[1] },
      { name: "Half squared error", key: "misfit", value: level },
      { name: isLasso(state) ? "Size ‖w‖₁" : "Size ‖w‖₂", key: "radius", value: radius },
      { name: "Pull on w₁", key: "pull1", value: pull[0], hint: isLasso(state) ? "±λ where w₁ ≠ 0, less at 0" : "λw₁" },
      { name: "Pull on w₂", key: "pull2", value: pull[1], hint: isLasso(state) ? "±λ where w₂ ≠ 0, less at 0" : "λw₂" },
    ],
    formula: (state) => `
      <p>min ½‖y − Xw‖² + ${isLasso(state) ? "λ‖w‖₁" : "½λ‖w‖²"}, &nbsp; XᵀX = [1 ρ; ρ 1]</p>
      <p>${isLasso(state) ? "Xᵀ(y − Xw) = λ sign(w) where w ≠ 0, and within ±λ where w = 0" : "w = (XᵀX + λI)⁻¹Xᵀy"}</p>
      <p class="quiet">For each λ there is a radius t with the same answer: min ½‖y − Xw‖² over the ball ${isLasso(state) ? "‖w‖₁" : "‖w‖₂"} ≤ t. At the answer the pull of the data, Xᵀ(y − Xw), stands at a right angle to the ball.</p>`,
    python: (state, { c }) => `import numpy as np
from mercer import ${isLasso(state) ? "Lasso" : "Ridge"}

X = np.linalg.cholesky([[1, ${state.rho}], [${state.rho}, 1]]).T  # XᵀX has ones and ρ
y = X @ ${lab.python.list(c)}
${isLasso(state) ? `# Lasso divides the squared error by the number of rows, here 2.
model = Lasso(alpha=${state.lambda} / 2, fit_intercept=False, tol=1e-12).fit(X, y)` : `model = Ridge(alpha=${state.lambda}, fit_intercept=False).fit(X, y)`}

model.coef_`,
  };
})());

// ---- descent in each norm, and Newton ------------------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  // A convex function with steep walls and a flat valley (Boyd and Vandenberghe, section 9.3).
  const terms = ([u, v]) => [Math.exp(u + 3 * v - 0.1), Math.exp(u - 3 * v - 0.1), Math.exp(-u - 0.1)];
  const value = (x) => terms(x).reduce((sum, t) => sum + t, 0);
  const gradient = (x) => {
    const [a, b, c] = terms(x);
    return [a + b - c, 3 * a - 3 * b];
  };
  const hessian = (x) => {
    const [a, b, c] = terms(x);
    return [a + b + c, 3 * a - 3 * b, 9 * a + 9 * b]; // upper left, corner, lower right
  };
  const LEAST = 2 * Math.SQRT2 * Math.exp(-0.1), TOLERANCE = 1e-6, MOST = 200, P = [2, 8];

  // For each method: the direction, the size of the gradient by which it stops, and its unit ball.
  const METHODS = {
    2: {
      name: "L2: the gradient", step: (x, g) => ({ d: [-g[0], -g[1]], size: Math.hypot(g[0], g[1]) }),
      ball: (t) => [Math.cos(t), Math.sin(t)], formula: "d = −∇f", python: "norm=2",
    },
    1: {
      name: "L1: one coordinate",
      step: (x, g) => {
        const first = Math.abs(g[0]) >= Math.abs(g[1]);
        return { d: first ? [-g[0], 0] : [0, -g[1]], size: Math.max(Math.abs(g[0]), Math.abs(g[1])) };
      },
      ball: (t) => { const s = Math.abs(Math.cos(t)) + Math.abs(Math.sin(t)); return [Math.cos(t) / s, Math.sin(t) / s]; },
      formula: "d = −(∂f/∂x<sub>i</sub>) e<sub>i</sub> for the largest |∂f/∂x<sub>i</sub>|", python: "norm=1",
    },
    inf: {
      name: "L∞: all signs",
      step: (x, g) => {
        const size = Math.abs(g[0]) + Math.abs(g[1]);
        return { d: g.map((v) => -size * Math.sign(v)), size };
      },
      ball: (t) => { const s = Math.max(Math.abs(Math.cos(t)), Math.abs(Math.sin(t))); return [Math.cos(t) / s, Math.sin(t) / s]; },
      formula: "d = −‖∇f‖₁ sign(∇f)", python: "norm=np.inf",
    },
    quadratic: {
      name: "√(dᵀPd), P = diag(2, 8)",
      step: (x, g) => ({ d: [-g[0] / P[0], -g[1] / P[1]], size: Math.sqrt(g[0] ** 2 / P[0] + g[1] ** 2 / P[1]) }),
      ball: (t) => [Math.cos(t) / Math.sqrt(P[0]), Math.sin(t) / Math.sqrt(P[1])],
      formula: "d = −P⁻¹∇f", python: "norm=np.diag([2.0, 8.0])",
    },
    newton: {
      name: "Newton: the Hessian", longest: 1,
      step: (x, g) => {
        const [a, b, c] = hessian(x), det = a * c - b * b, d = [-(c * g[0] - b * g[1]) / det, -(a * g[1] - b * g[0]) / det];
        return { d, size: Math.sqrt(Math.max(0, -(g[0] * d[0] + g[1] * d[1]))) };
      },
      ball: (t, x) => {
        const [a, b, c] = hessian(x), u = Math.cos(t), v = Math.sin(t), s = Math.sqrt(a * u * u + 2 * b * u * v + c * v * v);
        return [u / s, v / s];
      },
      formula: "d = −(∇²f)⁻¹∇f",
    },
  };

  /** Steps until the gradient is small; each is halved until f falls by a share of what its slope says. */
  function descend(method, start) {
    let x = start, f = value(x), first = 1;
    const path = [x], values = [f];
    for (;;) {
      const g = gradient(x), { d, size } = method.step(x, g), slope = g[0] * d[0] + g[1] * d[1];
      if (size <= TOLERANCE || path.length > MOST) return { path, values, size };
      const rounding = 2 * Number.EPSILON * Math.abs(f);
      let t = first, next = x, reached = f;
      for (;; t /= 2) {
        next = [x[0] + t * d[0], x[1] + t * d[1]];
        reached = value(next);
        // Near the bottom values differ by rounding alone; then the slope says whether it is too far.
        const beyond = gradient(next), enough = Math.abs(reached - f) <= rounding
          ? beyond[0] * d[0] + beyond[1] * d[1] <= -slope / 2 : reached <= f + 1e-4 * t * slope;
        if (enough) break;
        if (t < 1e-14 * first) return { path, values, size };
      }
      first = Math.min(method.longest ?? Infinity, 4 * t);
      [x, f] = [next, reached];
      path.push(x);
      values.push(f);
    }
  }

  function compute(state) {
    const method = METHODS[state.method], found = descend(method, state.points[0].slice(0, 2));
    return { method, ...found, step: Math.min(state.step, found.path.length - 1) };
  }

  function draw(plot, state, { method, path, step }) {
    const mesh = plot.mesh(), field = new Float64Array(mesh.xs.length * mesh.ys.length);
    plot.grid();
    let k = 0;
    for (const y of mesh.ys) for (const x of mesh.xs) field[k++] = Math.log(value([x, y]) - LEAST + 1e-9);
    for (let level = -3; level <= 5; level += 0.8) plot.contour(mesh, field, level, "thin g0 faint");
    const at = path[step], ball = Array.from({ length: 121 }, (_, i) => method.ball((i * Math.PI) / 60, at));
    const most = Math.max(...ball.map(([u, v]) => Math.hypot(u, v))), scale = 0.35 / most;
    plot.region(ball.map(([u, v]) => [at[0] + scale * u, at[1] + scale * v]), "ball");
    plot.line([path[step], ...path.slice(step + 1)], "thin g7 faint");
    plot.line(path.slice(0, step + 1), "line g1");
    path.slice(1, step + 1).forEach(([x, y]) => plot.circle(x, y, 3, "meeting"));
  }

  const LAST = 999;
  return {
    id: "descent", name: "Descent", title: "Descent in each norm, and Newton",
    lead: "Steepest depends on how steps are measured. Each norm has its own unit ball and takes the step of that ball along which the function falls fastest; in the norm of the Hessian that is Newton's method.",
    picture: "Contours of a function, the way down and the unit ball of the norm",
    help: "Drag the start. The shape is the unit ball of the norm at the present point, not to scale. Keys: Tab to the start, arrows move it (Shift: finely).",
    bounds: { x: [-2.4, 1.6], y: [-1.5, 1.5] },
    fixed: true,
    start: () => ({ method: "2", step: 3, points: [[-2, 0.9, 0]] }),
    controls: [
      { kind: "choice", key: "method", label: "Norm", options: ["2", "1", "inf", "quadratic", "newton"].map((key) => [key, METHODS[key].name]) },
      { kind: "slider", key: "step", label: "Steps so far", low: 0, high: LAST, step: 1, most: (state, result) => result.path.length - 1, value: (state, result) => result.step },
      { kind: "buttons", options: [
        ["One back", (state, result) => { state.step = Math.max(0, result.step - 1); }],
        ["Next step", (state, result) => { state.step = Math.min(result.path.length - 1, result.step + 1); }],
        ["To the end", (state) => { state.step = LAST; }]] },
    ],
    compute, draw,
    describe: () => "start of the descent",
    words: (state, { path, values, step }) => `After ${step} of ${path.length - 1} steps f is ${number(values[step], 6)}, which is ${number(Math.max(0, values[step] - LEAST), 2)} above its least value.`,
    numbers: (state, { path, values, step }) => [
      { name: "Steps until the end", key: "steps", value: path.length - 1 },
      { name: "Value f", key: "value", value: values[step], text: number(values[step], 8) },
      { name: "Place x₁", key: "x1", value: path[step][0] },
      { name: "Place x₂", key: "x2", value: path[step][1] },
      { name: "Above the least value", key: "excess", value: Math.max(0, values[step] - LEAST), residual: true },
    ],
    formula: (state, { method }) => `
      <p>f(x) = exp(x₁ + 3x₂ − 0.1) + exp(x₁ − 3x₂ − 0.1) + exp(−x₁ − 0.1)</p>
      <p>x ← x + t d, &nbsp; ${method.formula}</p>
      <p>t is halved until f(x + td) ≤ f(x) + 10⁻⁴ t ∇f·d</p>
      <p class="quiet">d is the unit vector v with the least ∇f·v, times the dual norm of ∇f. A ball that is as long as the contours makes the steps few: Newton's takes its shape from the second derivatives, at each point anew.</p>`,
    python: (state, { method }) => `import numpy as np
from mercer import optimize

def terms(x):
    return np.exp([x[0] + 3 * x[1] - 0.1, x[0] - 3 * x[1] - 0.1, -x[0] - 0.1])

A = np.array([[1, 3], [1, -3], [-1, 0]])
f = lambda x: terms(x).sum()
gradient = lambda x: terms(x) @ A
${method.python ? `down = optimize.steepest_descent(f, ${lab.python.list(state.points[0].slice(0, 2))}, gradient, ${method.python})` : `hessian = lambda x: (A.T * terms(x)) @ A
down = optimize.newton(f, ${lab.python.list(state.points[0].slice(0, 2))}, gradient, hessian)`}

down.trace.points  # the way
down.iterations, down.value`,
  };
})());

// ---- six penalties and an outlier ----------------------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const KINDS = [
    ["L2", "squares"], ["L1", "absolute values"], ["Huber", "Huber"],
    ["DeadZone", "dead zone"], ["LogBarrier", "barrier"], ["LargeError", "bounded squares"],
  ];
  const FORMULAS = {
    L2: "φ(r) = r²", L1: "φ(r) = |r|", Huber: "φ(r) = r² for |r| ≤ a, a(2|r| − a) beyond",
    DeadZone: "φ(r) = max(0, |r| − a)", LogBarrier: "φ(r) = −a² log(1 − (r/a)²)", LargeError: "φ(r) = min(r², a²)",
  };
  const price = {
    L2: (r) => r * r,
    L1: Math.abs,
    Huber: (r, a) => (Math.abs(r) <= a ? r * r : a * (2 * Math.abs(r) - a)),
    DeadZone: (r, a) => Math.max(0, Math.abs(r) - a),
    LogBarrier: (r, a) => (Math.abs(r) < a ? -a * a * Math.log(1 - (r / a) ** 2) : Infinity),
    LargeError: (r, a) => Math.min(r * r, a * a),
  };
  // First and second derivative of the two smooth ones, for Newton's method.
  const slopes = {
    Huber: (r, a) => (Math.abs(r) <= a ? [2 * r, 2] : [2 * a * Math.sign(r), 0]),
    LogBarrier: (r, a) => {
      const u = 1 - (r / a) ** 2;
      return [(2 * r) / u, (2 * (1 + (r / a) ** 2)) / (u * u)];
    },
  };

  const cost = (kind, a, X, y, [w, b]) => X.reduce((sum, x, i) => sum + price[kind](y[i] - w * x - b, a), 0);

  function squares(X, y, rows = X.keys()) {
    let n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (const i of rows) { n++; sx += X[i]; sy += y[i]; }
    if (n === 0) return null;
    for (const i of rows instanceof Array ? rows : X.keys()) { sxx += (X[i] - sx / n) ** 2; sxy += (X[i] - sx / n) * (y[i] - sy / n); }
    const w = sxx > 0 ? sxy / sxx : 0;
    return [w, sy / n - (w * sx) / n];
  }

  /** The best of the lines that pass each pair of points at one of some distances.
   *
   * A sum of penalties with kinks is a linear program: one of its answers has two residuals at kinks.
   */
  function throughPairs(X, y, offsets, judge) {
    let best = null, least = Infinity;
    for (let i = 0; i < X.length; i++) {
      for (let j = 0; j < i; j++) {
        if (X[i] === X[j]) continue;
        for (const p of offsets) for (const q of offsets) {
          const w = (y[i] - p - (y[j] - q)) / (X[i] - X[j]), line = [w, y[i] - p - w * X[i]];
          const value = judge(line, i, j);
          if (value < least) { least = value; best = line; }
        }
      }
    }
    return best;
  }

  /** The line whose largest residual is least: its slope is that of two of the points. */
  function flattest(X, y) {
    let best = null, least = Infinity;
    for (let i = 0; i < X.length; i++) {
      for (let j = 0; j < i; j++) {
        if (X[i] === X[j]) continue;
        const w = (y[i] - y[j]) / (X[i] - X[j]), rest = X.map((x, k) => y[k] - w * x);
        const low = Math.min(...rest), high = Math.max(...rest);
        if (high - low < least) { least = high - low; best = [w, (low + high) / 2]; }
      }
    }
    return { line: best, largest: least / 2 };
  }

  /** Newton's method with steps that are halved until the cost falls. */
  function newton(kind, a, X, y, start) {
    let line = start, value = cost(kind, a, X, y, line);
    for (let step = 0; step < 200; step++) {
      let gw = 0, gb = 0, hww = 0, hwb = 0, hbb = 0;
      X.forEach((x, i) => {
        const [first, second] = slopes[kind](y[i] - line[0] * x - line[1], a);
        gw -= first * x; gb -= first;
        hww += second * x * x; hwb += second * x; hbb += second;
      });
      const grain = 1e-12 * (hww + hbb) + 1e-300;
      hww += grain; hbb += grain;
      const det = hww * hbb - hwb * hwb;
      const d = [-(hbb * gw - hwb * gb) / det, -(hww * gb - hwb * gw) / det], slope = gw * d[0] + gb * d[1];
      if (!(slope < -1e-28)) break;
      let t = 1, next = null, found = Infinity;
      for (; t > 1e-12; t /= 2) {
        next = [line[0] + t * d[0], line[1] + t * d[1]];
        found = cost(kind, a, X, y, next);
        if (found <= value + 1e-4 * t * slope) break;
      }
      if (!(found < value)) break;
      line = next;
      value = found;
    }
    return line;
  }

  function fit(kind, a, X, y) {
    const sum = (line) => cost(kind, a, X, y, line);
    if (kind === "L2") return squares(X, y);
    if (kind === "L1") return throughPairs(X, y, [0], sum);
    if (kind === "DeadZone") {
      // Where many lines cost nothing, the one with the least largest residual is one of them.
      const { line, largest } = flattest(X, y);
      return largest <= a ? line : throughPairs(X, y, [-a, a], sum);
    }
    if (kind === "Huber") return newton(kind, a, X, y, squares(X, y));
    if (kind === "LogBarrier") {
      const { line, largest } = flattest(X, y);
      return largest < a ? newton(kind, a, X, y, line) : null;
    }
    // Bounded squares have many local optima. At the best line the rows within a are fitted by least
    // squares, and each such set of rows is met by turning a strip until two rows are on its edge.
    let best = squares(X, y), least = sum(best);
    throughPairs(X, y, [-a, a], (line, i, j) => {
      const inside = [...X.keys()].filter((k) => k !== i && k !== j && Math.abs(y[k] - line[0] * X[k] - line[1]) < a);
      for (const edge of [[], [i], [j], [i, j]]) {
        const found = squares(X, y, [...inside, ...edge]);
        if (found && sum(found) < least) { best = found; least = sum(found); }
      }
      return 0;
    });
    return best;
  }

  function compute(state) {
    const X = state.points.map((point) => point[0]), y = state.points.map((point) => point[1]);
    if (new Set(X).size < 2) return { X, y, lacking: true };
    const lines = {}, values = {};
    for (const [kind] of KINDS) {
      lines[kind] = fit(kind, state.a, X, y);
      values[kind] = lines[kind] ? cost(kind, state.a, X, y, lines[kind]) : Infinity;
    }
    return { X, y, lines, values, line: lines[state.penalty], value: values[state.penalty] };
  }

  function draw(plot, state, result) {
    plot.grid("x", "y");
    if (result.lacking) return;
    const ends = ([w, b]) => [[-4, -4 * w + b], [4, 4 * w + b]];
    KINDS.forEach(([kind], k) => {
      if (state.all && kind !== state.penalty && result.lines[kind]) plot.line(ends(result.lines[kind]), `thin g${k}`);
    });
    const own = `g${KINDS.findIndex(([kind]) => kind === state.penalty)}`;
    if (result.line) {
      result.X.forEach((x, i) => plot.line([[x, result.y[i]], [x, result.line[0] * x + result.line[1]]], `slack ${own}`));
      plot.line(ends(result.line), `line ${own}`);
    }
    inset(plot, state, result, own);
  }

  /** The penalty itself in a corner, with a dot for what each point pays. */
  function inset(plot, state, result, own) {
    const wide = Math.min(170, plot.width * 0.34), high = wide * 0.6, left = 30, top = 10;
    lab.svg.make("rect", { x: left, y: top, width: wide, height: high, rx: 6, class: "inset" }, plot.lines);
    const px = (r) => left + wide / 2 + (r / 3) * (wide / 2), py = (v) => top + high - 8 - (Math.min(v, 4) / 4) * (high - 14);
    const parts = [];
    for (let r = -3; r <= 3.0001; r += 0.03) {
      const v = price[state.penalty](r, state.a);
      if (v <= 4.0001) parts.push(`${parts.length ? "L" : "M"}${px(r).toFixed(1)} ${py(v).toFixed(1)}`);
    }
    lab.svg.make("path", { d: parts.join(""), class: `line ${own}` }, plot.lines);
    plot.text(left + 7, top + 15, "φ(r)", "tick");
    if (!result.line) return;
    result.X.forEach((x, i) => {
      const r = result.y[i] - result.line[0] * x - result.line[1], v = price[state.penalty](r, state.a);
      if (Math.abs(r) <= 3 && v <= 4) lab.svg.make("circle", { cx: px(r).toFixed(1), cy: py(v).toFixed(1), r: 2.5, class: "meeting" }, plot.lines);
    });
  }

  const start = [[-3.4, -1.6], [-2.8, -0.9], [-2.1, -1.1], [-1.4, -0.3], [-0.7, -0.5], [0, 0.2], [0.8, 0.1], [1.5, 0.9], [2.3, 0.8], [3, 1.6], [2.6, -2.3]];
  const wide = (state) => !["L1", "L2"].includes(state.penalty);
  return {
    id: "penalties", name: "Penalties", title: "Six penalties and an outlier",
    lead: "A line is fitted so that its residuals cost least. What one residual costs decides how much a single wrong point can do: drag the point below right far away, and watch which lines follow.",
    picture: "Points and the lines that the penalties choose; in the corner the penalty",
    help: `In the corner: what each residual costs. ${lab.keys(1)}`,
    bounds: { x: [-4, 4], y: [-3, 3] },
    most: 24,
    start: () => ({ penalty: "L2", a: 1, all: true, tool: "0", points: start.map(([x, y]) => [x, y, 0]) }),
    controls: [
      { kind: "choice", key: "penalty", label: "Penalty", options: KINDS },
      { kind: "slider", key: "a", label: "Width a", low: 0.1, high: 10, log: true, when: (state) => state.all || wide(state) },
      { kind: "tick", key: "all", label: "The other five as well" },
      { kind: "radios", key: "tool", label: "A click", options: [["0", "adds"], ["remove", "removes"]] },
    ],
    compute, draw,
    describe: (state, result, i) => (result.line ? `residual ${number(result.y[i] - result.line[0] * result.X[i] - result.line[1])}` : ""),
    words: (state, result) => {
      if (result.lacking) return "Two points at different places are needed. Click into the picture to add one.";
      if (!result.line) return `No line is within ${number(state.a, 3)} of every point, so the barrier is infinite everywhere. Take a larger a.`;
      return `y = ${number(result.line[0], 3)} x ${result.line[1] < 0 ? "−" : "+"} ${number(Math.abs(result.line[1]), 3)}, at a cost of ${number(result.value)}.`;
    },
    numbers: (state, result) => result.lacking ? [] : KINDS.map(([kind, name], k) => ({
      swatch: `g${k}`, name: `Slope by ${name}`, key: kind, value: result.lines[kind] ? result.lines[kind][0] : NaN,
    })),
    formula: (state) => `
      <p>min Σ φ(y<sub>i</sub> − w x<sub>i</sub> − b), &nbsp; ${FORMULAS[state.penalty]}${wide(state) ? `, &nbsp;a = ${number(state.a, 3)}` : ""}</p>
      <p class="quiet">Squares let a far point pull with a force that grows with its distance; absolute values and Huber's penalty hold that force constant; bounded squares let go of it altogether, but have many local optima (here all are tried). The dead zone does not see small residuals, and the barrier forbids large ones. Where several lines cost the same, one of them is shown.</p>`,
    python: (state, { X, y }) => `import numpy as np
from mercer import PenaltyRegressor, ${state.penalty}

x = np.array(${lab.python.list(X)})[:, None]
y = np.array(${lab.python.list(y)})
penalty = ${state.penalty}(${wide(state) ? state.a : ""})
model = PenaltyRegressor(penalty).fit(x, y)

model.coef_, model.intercept_
penalty.value(y - model.predict(x)).sum()  # the cost`,
  };
})());

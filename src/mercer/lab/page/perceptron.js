// ---- the perceptron, mistake by mistake ----------------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const ROUNDS = 100; // what Python is asked for; classes that no line separates never end
  const LAST = 9999; // more mistakes than there can be: the end of the story

  function learn(X, y) {
    let w = [0, 0], b = 0, clean = false, rounds = 0;
    const updates = [];
    while (!clean && rounds < ROUNDS && updates.length < LAST) {
      clean = true;
      rounds++;
      for (let i = 0; i < X.length; i++) {
        if (y[i] * (w[0] * X[i][0] + w[1] * X[i][1] + b) > 0) continue;
        w = [w[0] + y[i] * X[i][0], w[1] + y[i] * X[i][1]];
        b += y[i];
        clean = false;
        updates.push({ w, b, row: i, round: rounds });
      }
    }
    return { updates, clean, rounds };
  }

  /** R and the widest margin γ of a line, both with a 1 beside each row for the bias: γ is the
   * distance of the origin from the convex hull of the rows yᵢ(xᵢ, 1). */
  function bound(X, y) {
    const n = X.length, K = new Float64Array(n * n);
    let longest = 0;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) K[i * n + j] = y[i] * y[j] * (X[i][0] * X[j][0] + X[i][1] * X[j][1] + 1);
      longest = Math.max(longest, K[i * n + i]);
    }
    const fill = (v) => new Array(n).fill(v), start = fill(0);
    start[0] = 1;
    const nothing = 1e-13 * longest;
    const found = lab.boxQP.solve({ K, n, p: fill(0), lo: fill(0), hi: fill(1), start, group: fill(0), groups: 1, nothing });
    const squared = -2 * found.dual, separable = squared > 2 * nothing;
    return { R: Math.sqrt(longest), gamma: separable ? Math.sqrt(squared) : 0, bound: separable ? longest / squared : Infinity };
  }

  function compute(state) {
    const X = state.points.map(([x, y]) => [x, y]), y = state.points.map((point) => point[2]);
    if (!y.includes(1) || !y.includes(-1)) return { X, y, lacking: true, updates: [], step: 0 };
    const learnt = learn(X, y), step = Math.min(state.step, learnt.updates.length);
    const now = step ? learnt.updates[step - 1] : { w: [0, 0], b: 0, row: -1, round: 0 };
    // The theorem speaks of rows that a line separates; one that was found shows that there is one.
    const promise = learnt.clean ? bound(X, y) : { ...bound(X, y), gamma: 0, bound: Infinity };
    return { X, y, ...learnt, step, now, ...promise };
  }

  function draw(plot, state, result) {
    plot.grid();
    if (result.lacking || !result.step) return;
    const { w, b, row } = result.now, mesh = plot.mesh();
    const values = lab.kernels.onGrid(lab.kernels.linear(), [w], [1], b, mesh.xs, mesh.ys);
    const length = Math.hypot(w[0], w[1]) || 1;
    plot.paint(mesh, values.map((v) => v / length), lab.Plot.twoSides());
    const before = result.updates[result.step - 2];
    if (before) {
      const old = lab.kernels.onGrid(lab.kernels.linear(), [before.w], [1], before.b, mesh.xs, mesh.ys);
      plot.contour(mesh, old, 0, "line dashed faint");
    }
    plot.contour(mesh, values, 0, "level boundary");
    // The row that the last mistake was made on, and the direction in which it turned the weights.
    const [x, y] = result.X[row], side = result.y[row];
    plot.line([[0, 0], [side * x, side * y]], `slack g${side > 0 ? 0 : 1}`);
    plot.line([[0, 0], [w[0] / length, w[1] / length]], "line");
    plot.circle(w[0] / length, w[1] / length, 4, "meeting");
    plot.text(plot.X(w[0] / length) + 8, plot.Y(w[1] / length) - 8, "w/‖w‖", "alpha");
  }

  const random = lab.random(21), start = Array.from({ length: 20 }, (_, i) => {
    const side = i % 2 ? -1 : 1, into = (v, most) => Math.round(100 * Math.max(-most, Math.min(most, v))) / 100;
    const along = 1.6 * random.normal(), away = 0.7 * side + 0.35 * random.normal() + 0.3;
    return [into(0.5 * along + away, 3.9), into(0.85 * along - 0.6 * away, 2.9), side];
  });
  const forward = (state, result) => { state.step = Math.min(result.step + 1, result.updates.length); };
  const back = (state, result) => { state.step = Math.max(result.step - 1, 0); };

  return {
    id: "perceptron", name: "Perceptron", title: "The perceptron and its bound",
    lead: "It looks at one row after the other. Where the sign is right it does nothing; at a mistake it adds the row to its weights. However the rows are ordered, it makes no more mistakes than the bound says.",
    picture: "Points of two classes, the weights of the perceptron and its line after the mistakes so far",
    help: "Dashed: the row of the last mistake, and the line before it. " + lab.keys(2),
    bounds: { x: [-4, 4], y: [-3, 3] },
    most: 100,
    start: () => ({ step: 3, tool: "1", points: start.map((point) => [...point]) }),
    controls: [
      { kind: "slider", key: "step", label: "Mistakes so far", low: 0, high: LAST, step: 1, most: (state, result) => result.updates.length, value: (state, result) => result.step },
      { kind: "buttons", options: [["One back", back], ["Next mistake", forward], ["To the end", (state) => { state.step = LAST; }]] },
      { kind: "radios", key: "tool", label: "A click", options: [["1", "adds ●"], ["-1", "adds ■"], ["remove", "removes"]] },
    ],
    compute, draw,
    look: (state, result, i) => ({ ring: result.now?.row === i ? 10 : 0 }),
    describe: (state, result, i) => {
      const made = result.updates.slice(0, result.step).filter((update) => update.row === i).length;
      return `${state.points[i][2] > 0 ? "round class" : "square class"}, ${made} mistakes on it`;
    },
    words: (state, result) => {
      if (result.lacking) return "Both classes need a point. Click into the picture to add one.";
      if (!result.clean) return `After ${result.rounds} rounds and ${result.updates.length} mistakes it is not done: it seems that no line separates the classes, and then it never ends.`;
      const done = result.step === result.updates.length;
      return `${done ? "All rows are right" : `Round ${Math.max(1, result.now.round)}`} after ${result.step} mistakes; it makes ${result.updates.length}, and the theorem allows ${number(Math.floor(result.bound))}.`;
    },
    numbers: (state, result) => result.lacking ? [] : [
      { name: "Mistakes until the end", key: "mistakes", value: result.updates.length },
      { name: "Bound (R/γ)²", key: "bound", value: result.bound, text: number(result.bound, 6) },
      { name: "Longest row R", key: "radius", value: result.R },
      { name: "Widest margin γ", key: "gamma", value: result.gamma },
      { name: "Weights w", key: "weights", value: result.now.w, text: result.now.w.map((v) => number(v)).join(", ") },
      { name: "Bias b", key: "bias", value: result.now.b },
    ],
    formula: () => `
      <p>if y<sub>i</sub>(w·x<sub>i</sub> + b) ≤ 0: &nbsp; w ← w + y<sub>i</sub>x<sub>i</sub>, &nbsp;b ← b + y<sub>i</sub></p>
      <p>mistakes ≤ (R/γ)², &nbsp; R = max ‖(x<sub>i</sub>, 1)‖, &nbsp;γ = max<sub>‖u‖=1</sub> min y<sub>i</sub> u·(x<sub>i</sub>, 1)</p>
      <p class="quiet">Each mistake lengthens the part of w along the best u by at least γ, and ‖w‖² by at most R². After M mistakes Mγ ≤ ‖w‖ ≤ √M·R, so M ≤ (R/γ)² (Novikoff, 1962).</p>`,
    python: (state, { y, rounds = 1 }) => `import numpy as np
from mercer import Perceptron

X = np.array(${lab.python.rows(state.points)})
y = np.array(${lab.python.list(y)})
machine = Perceptron(shuffle=False, max_iter=${rounds}, tol=None).fit(X, y)

machine.mistakes_, machine.mistake_bound_
machine.coef_, machine.intercept_  # at the end`,
  };
})());

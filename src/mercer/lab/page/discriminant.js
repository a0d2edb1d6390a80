// ---- Fisher's discriminant: the direction in which two classes lie farthest apart ----------------
lab.experiments.push((() => {
  const { number } = lab.text;

  const SETS = {
    slanted: (random, side) => {
      const along = 1.5 * random.normal(), across = 0.35 * random.normal() + 0.65 * side;
      return [0.85 * along - 0.5 * across, 0.5 * along + 0.85 * across];
    },
    round: (random, side) => [1.1 * side + 0.8 * random.normal(), 0.5 * side + 0.8 * random.normal()],
    uneven: (random, side) => [side > 0 ? 1.6 + 0.4 * random.normal() : -0.8 + 1.2 * random.normal(), 0.9 * random.normal()],
  };

  function points(name) {
    const random = lab.random(11), into = (v, most) => Math.round(100 * Math.max(-most, Math.min(most, v))) / 100;
    return Array.from({ length: 36 }, (_, i) => {
      const side = i % 2 ? -1 : 1, [x, y] = SETS[name](random, side);
      return [into(x, 3.9), into(y, 2.9), side];
    });
  }

  const times = (S, [x, y]) => [S[0] * x + S[1] * y, S[1] * x + S[2] * y]; // upper left, corner, lower right
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];

  function compute(state) {
    const sides = [-1, 1].map((side) => state.points.filter((point) => point[2] === side));
    const n = state.points.length;
    if (sides.some((own) => own.length < 2)) return { lacking: true };
    const shares = sides.map((own) => own.length / n);
    const means = sides.map((own) => [0, 1].map((k) => own.reduce((sum, p) => sum + p[k], 0) / own.length));
    const within = [0, 0, 0];
    sides.forEach((own, c) => {
      for (const p of own) {
        const u = p[0] - means[c][0], v = p[1] - means[c][1];
        within[0] += (u * u) / n;
        within[1] += (u * v) / n;
        within[2] += (v * v) / n;
      }
    });
    const det = within[0] * within[2] - within[1] ** 2, size = within[0] + within[2];
    if (!(det > 1e-12 * size * size)) return { lacking: true };
    const inverse = [within[2] / det, -within[1] / det, within[0] / det];
    const apart = [means[1][0] - means[0][0], means[1][1] - means[0][1]];
    const w = times(inverse, apart), length = Math.hypot(...w);
    const b = -dot(w, [(means[0][0] + means[1][0]) / 2, (means[0][1] + means[1][1]) / 2]) + Math.log(shares[1] / shares[0]);
    const quotient = (v) => (shares[0] * shares[1] * dot(apart, v) ** 2) / dot(v, times(within, v));
    const own = [Math.cos((state.angle * Math.PI) / 180), Math.sin((state.angle * Math.PI) / 180)];
    const wrong = state.points.filter(([x, y, side]) => side * (dot(w, [x, y]) + b) <= 0).length;
    return {
      means, within, w, b, wrong, own, here: quotient(own), best: length > 0 ? quotient(w) : 0,
      direction: length > 0 ? w.map((v) => v / length) : [1, 0],
      degrees: length > 0 ? ((Math.atan2(w[1], w[0]) * 180) / Math.PI + 180) % 180 : 0,
    };
  }

  function draw(plot, state, result) {
    plot.grid();
    if (result.lacking) return;
    const { means, within, w, b, own, direction } = result, mesh = plot.mesh();
    const values = lab.kernels.onGrid(lab.kernels.linear(), [w], [1], b, mesh.xs, mesh.ys);
    plot.paint(mesh, values.map((v) => v / 2), lab.Plot.twoSides());
    plot.contour(mesh, values, 0, "level boundary");
    // One deviation of the spread within classes, around each mean.
    const L = lab.linalg.cholesky([within[0], within[1], within[1], within[2]], 2);
    means.forEach(([x, y], c) => {
      plot.line(Array.from({ length: 73 }, (_, i) => {
        const u = Math.cos((i * Math.PI) / 36), v = Math.sin((i * Math.PI) / 36);
        return [x + L[0] * u, y + L[2] * u + L[3] * v];
      }), `thin g${c ? 0 : 1}`);
      plot.circle(x, y, 4, "meeting");
    });
    const through = (v, style) => plot.line([[-9 * v[0], -9 * v[1]], [9 * v[0], 9 * v[1]]], style);
    through(direction, "line g2");
    through(own, "line g3 dashed");
    for (const [x, y, side] of state.points) {
      const t = dot([x, y], own);
      plot.circle(t * own[0], t * own[1], 3, `node g${side > 0 ? 0 : 1}`);
      plot.line([[x, y], [t * own[0], t * own[1]]], `slack faint g${side > 0 ? 0 : 1}`);
    }
  }

  return {
    id: "discriminant", name: "LDA", title: "Fisher’s discriminant",
    lead: "Along which direction do two classes lie farthest apart? Not along the line between their means: the spread within the classes counts as well. Turn the dashed direction by hand, and see that none beats the violet one.",
    picture: "Points of two classes, their projections on a direction, and the best direction",
    help: "Dashed: your direction, with all points projected on it. Violet: the best one. Thick: where Bayes’ rule changes its answer. " + lab.keys(2),
    bounds: { x: [-4, 4], y: [-3, 3] },
    most: 80,
    start: () => ({ data: "slanted", angle: 20, tool: "1", points: points("slanted") }),
    controls: [
      { kind: "choice", key: "data", label: "Data", then: (state) => { state.points = points(state.data); }, options: [["slanted", "slanted classes"], ["round", "round classes"], ["uneven", "uneven classes"]] },
      { kind: "slider", key: "angle", label: "Your direction (degrees)", low: 0, high: 180, step: 1 },
      { kind: "buttons", options: [["To the best direction", (state, result) => { if (!result.lacking) state.angle = Math.round(result.degrees); }]] },
      { kind: "radios", key: "tool", label: "A click", options: [["1", "adds ●"], ["-1", "adds ■"], ["remove", "removes"]] },
    ],
    compute, draw,
    describe: (state, result, i) => (state.points[i][2] > 0 ? "round class" : "square class"),
    words: (state, result) => result.lacking
      ? "Both classes need two points, and the points have to spread in both directions. Click into the picture to add some."
      : `Your direction separates ${number((100 * result.here) / (result.best || 1), 3)} % as well as the best one. Bayes’ rule puts ${result.wrong} of ${state.points.length} points on the wrong side.`,
    numbers: (state, result) => result.lacking ? [] : [
      { name: "Quotient, your direction", key: "here", value: result.here },
      { name: "Quotient, best direction", key: "best", value: result.best },
      { name: "Best direction", key: "direction", value: result.direction, text: result.direction.map((v) => number(v, 3)).join(", ") },
      { name: "Its angle", key: "degrees", value: result.degrees, text: `${number(result.degrees, 4)}°` },
      { name: "Weights w", key: "weights", value: result.w, text: result.w.map((v) => number(v)).join(", ") },
      { name: "Bias b", key: "bias", value: result.b },
    ],
    formula: () => `
      <p>max<sub>v</sub> vᵀS<sub>b</sub>v / vᵀS<sub>w</sub>v, &nbsp; S<sub>b</sub> = Σ π<sub>c</sub>(m<sub>c</sub> − m)(m<sub>c</sub> − m)ᵀ, &nbsp; S<sub>w</sub> = Σ π<sub>c</sub>C<sub>c</sub></p>
      <p>best: &nbsp; w = S<sub>w</sub>⁻¹(m₁ − m₀)</p>
      <p>Bayes’ rule: &nbsp; w·x + b > 0, &nbsp; b = −½ w·(m₀ + m₁) + log π₁/π₀</p>
      <p class="quiet">The ellipses are one deviation of the common covariance S<sub>w</sub>. Where the classes are Gaussian with this covariance, no rule makes fewer mistakes than this line (Fisher, 1936).</p>`,
    python: (state) => `import numpy as np
from mercer import LinearDiscriminantAnalysis

X = np.array(${lab.python.rows(state.points)})
y = np.array(${lab.python.list(state.points.map((point) => point[2]))})
model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)

model.separation_  # the best quotient
angle = np.radians(${state.angle})
here = model.quotient([np.cos(angle), np.sin(angle)])
model.coef_, model.intercept_  # w and b`,
  };
})());

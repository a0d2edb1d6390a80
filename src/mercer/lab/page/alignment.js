// ---- two series, bent in time --------------------------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const COUNT = 14, LIFT = 1.5; // values of each series, and how far apart the two are drawn
  const place = (i) => Math.round(100 * (-3.75 + (4.9 * i) / (COUNT - 1))) / 100;
  const bump = (i, at) => Math.exp(-((i - at) ** 2) / 3.5) - 0.45 * Math.exp(-((i - at - 4) ** 2) / 4);
  const round = (v) => Math.round(100 * v) / 100;

  function compute(state) {
    const value = (point) => round(point[1] - LIFT * point[2]);
    const a = state.points.slice(0, COUNT).map(value), b = state.points.slice(COUNT).map(value), n = COUNT;
    const D = new Float64Array(n * n).fill(Infinity);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        if (Math.abs(i - j) > state.band) continue;
        const before = i + j === 0 ? 0 : Math.min(
          i ? D[(i - 1) * n + j] : Infinity, j ? D[i * n + j - 1] : Infinity, i && j ? D[(i - 1) * n + j - 1] : Infinity);
        D[i * n + j] = (a[i] - b[j]) ** 2 + before;
      }
    }
    const path = [[n - 1, n - 1]];
    for (let [i, j] = path[0]; i + j > 0; path.push([i, j])) {
      const ways = [[i - 1, j - 1], [i - 1, j], [i, j - 1]].filter(([p, q]) => p >= 0 && q >= 0);
      [i, j] = ways.reduce((best, way) => (D[way[0] * n + way[1]] < D[best[0] * n + best[1]] ? way : best));
    }
    const straight = a.reduce((sum, v, i) => sum + (v - b[i]) ** 2, 0);
    return { a, b, D, path: path.reverse(), distance: D[n * n - 1], straight };
  }

  function draw(plot, state, { D, path }) {
    const { points } = state, n = COUNT;
    plot.line([[-4, LIFT], [1.4, LIFT]], "grid");
    plot.line([[-4, -LIFT], [1.4, -LIFT]], "grid");
    for (const [i, j] of path) plot.line([points[i], points[n + j]], "thin g2");
    plot.line(points.slice(0, n), "line g0");
    plot.line(points.slice(n), "line g1");
    // The table of the program: darker where less is paid so far; the path goes through its valley.
    const left = plot.X(1.55), side = plot.X(3.85) - left, top = plot.Y(0) - side / 2, cell = side / n;
    const finite = D.filter(Number.isFinite), most = Math.max(...finite) || 1;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const v = D[i * n + j];
        if (!Number.isFinite(v)) continue;
        lab.svg.make("rect", {
          x: (left + j * cell).toFixed(2), y: (top + i * cell).toFixed(2), width: (cell - 0.6).toFixed(2), height: (cell - 0.6).toFixed(2),
          class: "heat g0", "fill-opacity": (0.08 + 0.8 * (1 - Math.sqrt(v / most))).toFixed(3),
        }, plot.field);
      }
    }
    const d = path.map(([i, j], k) => `${k ? "L" : "M"}${(left + (j + 0.5) * cell).toFixed(1)} ${(top + (i + 0.5) * cell).toFixed(1)}`);
    lab.svg.make("path", { d: d.join(""), class: "line g1" }, plot.lines);
    plot.text(left, top - 8, "second →", "tick");
    plot.text(left, top + side + 16, "first ↓", "tick");
  }

  return {
    id: "alignment", name: "Alignment", title: "Two series, bent in time",
    lead: "The same shape may come earlier or later, slower or faster. Dynamic time warping pairs the values of two series, keeps their order, and takes the pairing that costs least.",
    picture: "Two series, the pairs of the warping path between them, and the table of the least costs",
    help: "Drag values up and down to draw the series. Keys: Tab to the values, arrows up and down move one (Shift: finely), Page Down and Page Up go to the next and the previous one. On the right: what the best path to each pair costs, darker is less.",
    bounds: { x: [-4, 4], y: [-3, 3] },
    fixed: true,
    hold: (i) => place(i % COUNT), // values move up and down, never in time
    start: () => ({
      band: COUNT - 1,
      points: [1, -1].flatMap((side) => Array.from({ length: COUNT }, (_, i) => [place(i), round(side * LIFT + 1.1 * bump(i, side > 0 ? 3 : 6.5)), side])),
    }),
    controls: [
      { kind: "slider", key: "band", label: "Band: the most steps apart", low: 0, high: COUNT - 1, step: 1 },
    ],
    compute, draw,
    describe: (state, result, i) => `value ${(i % COUNT) + 1} of the ${i < COUNT ? "first" : "second"} series: ${number(i < COUNT ? result.a[i] : result.b[i - COUNT], 3)}`,
    words: (state, result) => `Bent in time the series are ${number(result.distance, 3)} apart, value by value ${number(result.straight, 3)}. The path has ${result.path.length} pairs.`,
    numbers: (state, result) => [
      { name: "Warping distance", key: "distance", value: result.distance, text: number(result.distance, 7) },
      { name: "Value by value", key: "straight", value: result.straight },
      { name: "Pairs on the path", key: "pairs", value: result.path.length },
    ],
    formula: () => `
      <p>D(i, j) = (x<sub>i</sub> − z<sub>j</sub>)² + min {D(i − 1, j), D(i, j − 1), D(i − 1, j − 1)}</p>
      <p>distance = D(n, n), &nbsp; only pairs with |i − j| ≤ band</p>
      <p class="quiet">Each cell needs its three neighbours alone, so 196 steps find the best of 1,409,933,619 paths. The distance is no metric and its Gaussian need not be a positive kernel; global alignment, which sums over all paths, is one.</p>`,
    python: (state, { a, b }) => `import numpy as np
from mercer import dtw_distances

first = np.array(${lab.python.list(a)})
second = np.array(${lab.python.list(b)})
distance = dtw_distances([first], [second]${state.band < COUNT - 1 ? `, band=${state.band}` : ""})[0, 0]
straight = dtw_distances([first], [second], band=0)[0, 0]`,
  };
})());

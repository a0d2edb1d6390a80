// ---- random walks on a product graph --------------------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const LONGEST = 8;

  const PAIRS = {
    path: ["1-2 2-3 3-1", "1-2 2-3 3-4"],
    rings: ["1-2 2-3 3-4 4-1", "1-2 2-3 3-4 4-5 5-1"],
    star: ["1-2 1-3 1-4 1-5", "1-2 2-3 3-4 4-5"],
    same: ["1-2 2-3 3-4 4-1 1-3", "1-2 2-3 3-4 4-1 2-4"],
  };
  const NAMES = [["path", "a triangle and a path"], ["rings", "two rings"], ["star", "a star and a path"], ["same", "the same graph twice"]];

  function parse(text) {
    let size = 0;
    const edges = new Set();
    for (const [, a, b] of text.matchAll(/([1-6])-([1-6])/g)) {
      size = Math.max(size, Number(a), Number(b));
      if (a !== b) edges.add([a, b].sort().join("-"));
    }
    const pairs = [...edges].map((edge) => edge.split("-").map((v) => Number(v) - 1));
    const A = new Float64Array(size * size);
    for (const [a, b] of pairs) A[a * size + b] = A[b * size + a] = 1;
    const root = size ? lab.linalg.eigen(A, size).values[0] : 0;
    return { size, pairs, A, root };
  }

  /** The adjacency matrix of the product: a step in both graphs at once. */
  function product(g, h) {
    const n = g.size * h.size, P = new Float64Array(n * n);
    for (let a = 0; a < g.size; a++) for (let b = 0; b < g.size; b++) {
      if (!g.A[a * g.size + b]) continue;
      for (let c = 0; c < h.size; c++) for (let d = 0; d < h.size; d++) {
        P[(a * h.size + c) * n + b * h.size + d] = h.A[c * h.size + d];
      }
    }
    return { n, P };
  }

  /** 1ᵀ(I − λA×)⁻¹1: the matrix is positive definite below the limit of λ. */
  function kernel({ n, P }, decay) {
    if (!n) return 0;
    const M = P.map((v) => -decay * v);
    for (let i = 0; i < n; i++) M[i * n + i] += 1;
    const L = lab.linalg.cholesky(M, n);
    return lab.linalg.solve(L, n, new Float64Array(n).fill(1)).reduce((sum, v) => sum + v, 0);
  }

  /** How many walks of so many steps end in each node. */
  function counts({ n, P }, steps) {
    let ends = new Float64Array(n).fill(1);
    for (let l = 0; l < steps; l++) ends = ends.map((_, i) => { let sum = 0; for (let j = 0; j < n; j++) sum += P[i * n + j] * ends[j]; return sum; });
    return ends;
  }

  function compute(state) {
    const graphs = [parse(state.first), parse(state.second)], [g, h] = graphs;
    const most = Math.max(g.root, h.root), limit = most > 0 ? 1 / most ** 2 : 1;
    const decay = Number((state.share * limit).toPrecision(6)), both = product(g, h);
    const value = kernel(both, decay), own = graphs.map((one) => kernel(product(one, one), decay));
    const ends = counts(both, state.steps), common = ends.reduce((sum, v) => sum + v, 0);
    // One walk among all: a pair of nodes, and then a common step as long as there is one.
    const random = lab.random(state.walk), walk = [];
    if (both.n) walk.push(Math.floor(random.uniform() * both.n));
    for (let l = 0; l < state.steps && walk.length; l++) {
      const last = walk.at(-1), next = [];
      for (let j = 0; j < both.n; j++) if (both.P[last * both.n + j]) next.push(j);
      if (!next.length) break;
      walk.push(next[Math.floor(random.uniform() * next.length)]);
    }
    const arcs = both.P.reduce((sum, v) => sum + v, 0);
    return { graphs, both, limit, decay, value, own, ends, common, walk, arcs, similarity: value ? value / Math.sqrt(own[0] * own[1]) : 0 };
  }

  const path = (p, q) => `M${p[0].toFixed(1)} ${p[1].toFixed(1)}L${q[0].toFixed(1)} ${q[1].toFixed(1)}`;
  function edges(plot, list, at, style) {
    for (const [a, b] of list) lab.svg.make("path", { d: path(at(a), at(b)), class: style }, plot.lines);
  }
  function node(plot, [x, y], r, words, style) {
    const mark = lab.svg.make("g", { class: "mark" }, plot.lines);
    lab.svg.make("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r, class: `node cell ${style}` }, mark);
    if (words) plot.text(x, y + 4.5, words, "middle inside", mark);
  }

  function draw(plot, state, { graphs, both, ends, walk }) {
    const [g, h] = graphs, { width, height } = plot, small = Math.min(width * 0.15, 80), left = 2 * small + 30;
    graphs.forEach(({ size, pairs }, k) => {
      const cx = small + 12, cy = (k ? 0.74 : 0.26) * height + 6;
      const at = (i) => [cx + (small - 14) * Math.sin((2 * Math.PI * i) / size), cy - (small - 14) * Math.cos((2 * Math.PI * i) / size)];
      plot.text(8, cy - small - 6, k ? "second graph" : "first graph", "name");
      edges(plot, pairs, at, "edge");
      const way = walk.map((v) => (k ? v % h.size : Math.floor(v / h.size)));
      edges(plot, way.slice(1).map((v, l) => [way[l], v]), at, "line g1");
      for (let i = 0; i < size; i++) node(plot, at(i), 11, String(i + 1), i === way.at(-1) ? "g1" : "g0");
    });
    plot.text(left + 8, 16, "product graph", "name");
    if (!both.n) return;
    // A node of the product for each pair: rows are nodes of the first graph, columns of the second.
    const at = (v) => [left + ((v % h.size) + 0.7) * ((width - left) / (h.size + 0.4)), 30 + (Math.floor(v / h.size) + 0.6) * ((height - 40) / (g.size + 0.2))];
    const arcs = [];
    for (let i = 0; i < both.n; i++) for (let j = i + 1; j < both.n; j++) if (both.P[i * both.n + j]) arcs.push([i, j]);
    edges(plot, arcs, at, "edge faint");
    edges(plot, walk.slice(1).map((v, l) => [walk[l], v]), at, "line g1");
    const most = Math.max(...ends, 1e-9), radius = Math.min(15, (width - left) / (2.6 * h.size), (height - 40) / (2.6 * g.size));
    for (let v = 0; v < both.n; v++) {
      const name = radius > 12 ? `${Math.floor(v / h.size) + 1}${(v % h.size) + 1}` : "";
      node(plot, at(v), Math.max(4, radius * Math.sqrt(ends[v] / most)), ends[v] / most > 0.6 ? name : "", v === walk.at(-1) ? "g1" : "g0");
    }
  }

  const python = (text) => `[${parse(text).pairs.map(([a, b]) => `(${a}, ${b})`).join(", ")}]`;
  return {
    id: "walks", name: "Walks", title: "Random walks on a product graph",
    lead: "A walk in the product of two graphs is a pair of walks, one in each, taken step by step together. The kernel counts all of them, of every length, longer ones less: that is one system of equations.",
    picture: "Two graphs, and their product with one common walk",
    help: "Type the edges, such as 1-2 2-3, with nodes from 1 to 6. A disc of the product is as large as the number of walks that end there. Orange: one walk of many.",
    bounds: { x: [0, 1], y: [0, 1], ratio: 0.62, tall: 380 },
    start: () => ({ pair: "path", first: PAIRS.path[0], second: PAIRS.path[1], share: 0.5, steps: 3, walk: 1 }),
    controls: [
      { kind: "choice", key: "pair", label: "Graphs", options: NAMES, then: (state) => { [state.first, state.second] = PAIRS[state.pair]; } },
      { kind: "slider", key: "share", label: "λ, as a share of its limit", low: 0.05, high: 0.95, step: 0.05 },
      { kind: "slider", key: "steps", label: "Steps of the walks shown", low: 0, high: LONGEST, step: 1 },
      { kind: "buttons", options: [["Another walk", (state) => { state.walk = (state.walk % 999) + 1; }]] },
      { kind: "text", key: "first", label: "Edges of the first graph", longest: 80 },
      { kind: "text", key: "second", label: "Edges of the second graph", longest: 80 },
    ],
    compute, draw,
    words: (state, { both, common, similarity }) => both.n
      ? `${number(common, 6)} common walks of ${state.steps} steps. Over all lengths the graphs are ${number(100 * similarity, 3)} % alike.`
      : "A graph without edges has no walks: type some edges.",
    numbers: (state, { value, own, similarity, both, arcs, decay, limit, common }) => [
      { name: "Kernel k(x, z)", key: "kernel", value },
      { name: "Normalised", key: "similarity", value: similarity },
      { name: "k(x, x)", key: "first", value: own[0] },
      { name: "k(z, z)", key: "second", value: own[1] },
      { name: "Nodes and arcs of the product", key: "product", value: [both.n, arcs], text: `${both.n} and ${arcs}` },
      { name: "Common walks of these steps", key: "walks", value: common },
      { name: "λ", key: "decay", value: decay },
      { name: "Limit of λ", key: "limit", value: limit },
    ],
    formula: () => `
      <p>A<sub>×</sub>[(a, c), (b, d)] = A[a, b] · B[c, d]</p>
      <p>k(x, z) = Σ<sub>l</sub> λ<sup>l</sup> · (common walks of l steps) = 1ᵀ(I − λA<sub>×</sub>)⁻¹1</p>
      <p class="quiet">The number of walks of l steps grows as ρ<sup>l</sup>, with ρ the largest eigenvalue, so the sum is finite for λ < 1/ρ(A<sub>×</sub>) alone. The limit here holds for each graph with itself too (Gärtner, Flach and Wrobel, 2003).</p>`,
    python: (state, { graphs, decay }) => `from mercer import Graph, RandomWalk

first = Graph(${python(state.first)}, size=${graphs[0].size})
second = Graph(${python(state.second)}, size=${graphs[1].size})
kernel = RandomWalk(${decay})
limit = kernel.largest_decay([first, second])
K = kernel([first, second])`,
  };
})());

// ---- Weisfeiler–Lehman: colours round by round ---------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const MOST = 4; // rounds; graphs of nine nodes are settled before that, or almost

  // Pairs to begin with; the last one cannot be told apart by colours, though one graph is in two parts.
  const PAIRS = {
    rings: ["1-2 2-3 3-4 4-5 5-6 6-1", "1-2 2-3 3-4 4-5 5-6"],
    stars: ["1-2 2-3 3-4 4-5 3-6", "1-2 2-3 3-4 4-5 2-6"],
    houses: ["1-2 2-3 3-4 4-1 1-5 2-5", "1-2 2-3 3-4 4-5 5-1"],
    triangles: ["1-2 2-3 3-1 4-5 5-6 6-4", "1-2 2-3 3-4 4-5 5-6 6-1"],
  };
  const NAMES = [["stars", "a moved branch"], ["rings", "a ring and a chain"], ["houses", "a house and a ring"], ["triangles", "two triangles and a ring"]];

  /** Edges such as "1-2 2-3": nodes are the digits up to the largest one. */
  function parse(text) {
    const edges = new Set();
    let size = 0;
    for (const [, a, b] of text.matchAll(/([1-9])-([1-9])/g)) {
      size = Math.max(size, Number(a), Number(b));
      if (a !== b) edges.add([a, b].sort().join("-"));
    }
    const pairs = [...edges].map((edge) => edge.split("-").map((v) => Number(v) - 1));
    const neighbours = Array.from({ length: size }, () => []);
    for (const [a, b] of pairs) { neighbours[a].push(b); neighbours[b].push(a); }
    return { size, pairs, neighbours };
  }

  function compute(state) {
    const graphs = [parse(state.first), parse(state.second)];
    let colours = graphs.map(({ size }) => new Array(size).fill(0));
    const rounds = [colours], meanings = [["any node"]];
    for (let r = 1; r <= MOST; r++) {
      // A new colour for each pair of an old one and the sorted colours around it, in both graphs alike.
      const names = new Map(), last = colours;
      colours = graphs.map(({ neighbours }, g) => neighbours.map((around, i) => {
        const name = `${last[g][i] + 1} among ${around.map((j) => last[g][j] + 1).sort((p, q) => p - q).join(", ") || "none"}`;
        if (!names.has(name)) names.set(name, names.size);
        return names.get(name);
      }));
      rounds.push(colours);
      meanings.push([...names.keys()]);
    }
    const count = (list, c) => list.filter((v) => v === c).length;
    const dot = (r, g, h) => meanings[r].reduce((sum, _, c) => sum + count(rounds[r][g], c) * count(rounds[r][h], c), 0);
    const total = (g, h) => { let sum = 0; for (let r = 0; r <= state.round; r++) sum += dot(r, g, h); return sum; };
    const value = total(0, 1), own = [total(0, 0), total(1, 1)];
    const shown = rounds[state.round], tally = meanings[state.round].map((meaning, c) => ({ meaning, counts: shown.map((list) => count(list, c)) }));
    const apart = rounds.findIndex((_, r) => meanings[r].some((__, c) => count(rounds[r][0], c) !== count(rounds[r][1], c)));
    return { graphs, rounds, shown, tally, value, own, apart, similarity: value ? value / Math.sqrt(own[0] * own[1]) : 0 };
  }

  const PALETTE = 6; // colours of the page's style; further ones are told by their number alone

  /** A node in its colour, with the number of the colour in it. */
  function node(plot, x, y, r, c) {
    const mark = lab.svg.make("g", { class: "mark" }, plot.lines);
    lab.svg.make("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r, class: `node cell g${c < PALETTE ? c : 7}` }, mark);
    plot.text(x, y + 4.5, String(c + 1), "middle inside", mark);
  }

  function draw(plot, state, { graphs, shown, tally }) {
    const { width } = plot, radius = Math.min(width / 4 - 26, 150), middle = radius + 34;
    graphs.forEach(({ size, pairs }, g) => {
      const cx = width * (0.25 + 0.5 * g);
      const at = (i) => [cx + radius * Math.sin((2 * Math.PI * i) / size), middle - radius * Math.cos((2 * Math.PI * i) / size)];
      for (const [a, b] of pairs) {
        const [p, q] = [at(a), at(b)];
        lab.svg.make("path", { d: `M${p[0].toFixed(1)} ${p[1].toFixed(1)}L${q[0].toFixed(1)} ${q[1].toFixed(1)}`, class: "edge" }, plot.lines);
      }
      for (let i = 0; i < size; i++) {
        node(plot, ...at(i), 15, shown[g][i]);
      }
    });
    const y0 = 2 * radius + 92, step = Math.min(28, (plot.height - y0) / Math.max(1, tally.length)), shrink = width < 480;
    plot.text(46, y0 - 18, "colour", "tick");
    plot.text(width - (shrink ? 76 : 130), y0 - 18, "first", "tick end");
    plot.text(width - 16, y0 - 18, "second", "tick end");
    tally.forEach(({ meaning, counts }, c) => {
      const y = y0 + c * step;
      node(plot, 24, y - 1, 10, c);
      plot.text(46, y + 3, meaning, "");
      plot.text(width - (shrink ? 76 : 130), y + 3, String(counts[0]), "name end");
      plot.text(width - 16, y + 3, String(counts[1]), "name end");
    });
  }

  const python = (text) => `[${parse(text).pairs.map(([a, b]) => `(${a}, ${b})`).join(", ")}]`;
  return {
    id: "colours", name: "Graphs", title: "Weisfeiler–Lehman: colours round by round",
    lead: "All nodes begin with one colour. In each round a node takes a new one, for its own and those around it. Graphs that are alike keep as many nodes of each colour; the kernel counts them.",
    picture: "Two graphs with the colours of their nodes, and how often each colour occurs",
    help: "Type the edges, such as 1-2 2-3, with nodes from 1 to 9. The number in a node is its colour in this round.",
    bounds: { x: [0, 1], y: [0, 1], ratio: 0.75, tall: 420 },
    start: () => ({ pair: "stars", first: PAIRS.stars[0], second: PAIRS.stars[1], round: 2 }),
    controls: [
      { kind: "choice", key: "pair", label: "Graphs", options: NAMES, then: (state) => { [state.first, state.second] = PAIRS[state.pair]; } },
      { kind: "slider", key: "round", label: "Round", low: 0, high: MOST, step: 1 },
      { kind: "text", key: "first", label: "Edges of the first graph", longest: 80 },
      { kind: "text", key: "second", label: "Edges of the second graph", longest: 80 },
    ],
    compute, draw,
    words: (state, { apart, similarity }) => `${apart < 0 ? `${MOST} rounds do not tell the graphs apart.` : `Round ${apart} is the first that tells them apart.`} Up to round ${state.round} they are ${number(100 * similarity, 3)} % alike.`,
    numbers: (state, { value, own, similarity, tally }) => [
      { name: "Kernel k(x, z)", key: "kernel", value },
      { name: "Normalised", key: "similarity", value: similarity },
      { name: "k(x, x)", key: "first", value: own[0] },
      { name: "k(z, z)", key: "second", value: own[1] },
      { name: "Colours in this round", key: "colours", value: tally.length },
    ],
    formula: () => `
      <p>c<sub>r+1</sub>(v) = new colour for (c<sub>r</sub>(v), sorted c<sub>r</sub>(u) of all neighbours u)</p>
      <p>k(x, z) = Σ<sub>r=0…R</sub> Σ<sub>c</sub> n<sub>c</sub><sup>r</sup>(x) n<sub>c</sub><sup>r</sup>(z)</p>
      <p class="quiet">A colour of round r stands for the tree of all walks of r steps from a node. Different counts prove that two graphs are different; equal ones prove nothing, as two triangles and a ring of six show.</p>`,
    python: (state, { graphs }) => `from mercer import Graph, WeisfeilerLehman

first = Graph(${python(state.first)}, size=${graphs[0].size})
second = Graph(${python(state.second)}, size=${graphs[1].size})
kernel = WeisfeilerLehman(${state.round})
K = kernel([first, second])`,
  };
})());

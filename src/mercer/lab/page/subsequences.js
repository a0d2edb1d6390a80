// ---- subsequences that two words share -----------------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const SHOWN = 12; // rows that fit into the picture

  /** φ_u of a word for every u of k letters: Σ λ^gaps over the places where u stands, and those places. */
  function features(word, k, decay) {
    const letters = Array.from(word), found = new Map();
    const grow = (places) => {
      if (places.length === k) {
        const u = places.map((i) => letters[i]).join(""), gaps = places[k - 1] - places[0] + 1 - k;
        const entry = found.get(u) || { weight: 0, places: [] };
        entry.weight += decay ** gaps;
        entry.places.push({ places, weight: decay ** gaps });
        found.set(u, entry);
        return;
      }
      for (let i = places.length ? places[places.length - 1] + 1 : 0; i < letters.length; i++) grow([...places, i]);
    };
    grow([]);
    return found;
  }

  const square = (all) => [...all.values()].reduce((sum, entry) => sum + entry.weight ** 2, 0);

  function compute(state) {
    const a = features(state.first, state.k, state.decay), b = features(state.second, state.k, state.decay);
    const rows = [];
    for (const [u, entry] of a) {
      const other = b.get(u);
      if (other && entry.weight * other.weight > 0) rows.push({ u, a: entry, b: other, product: entry.weight * other.weight });
    }
    rows.sort((p, q) => q.product - p.product || (p.u < q.u ? -1 : 1));
    const value = rows.reduce((sum, row) => sum + row.product, 0), own = [square(a), square(b)];
    return { rows, value, own, similarity: value ? value / Math.sqrt(own[0] * own[1]) : 0, counts: [a.size, b.size], pick: Math.min(state.pick, rows.length) };
  }

  function draw(plot, state, result) {
    const { width, height } = plot, row = result.rows[result.pick - 1], top = [34, 92];
    const place = (letters, i) => width / 2 + (i - (letters.length - 1) / 2) * Math.min(38, (width - 30) / 12);
    [state.first, state.second].forEach((word, k) => {
      const letters = Array.from(word), entry = row && (k ? row.b : row.a);
      const best = entry?.places.reduce((p, q) => (q.weight > p.weight ? q : p)).places || [];
      // An arc over the letters of the occurrence with the fewest gaps.
      best.forEach((i, n) => {
        if (!n) return;
        const from = place(letters, best[n - 1]), to = place(letters, i), y = top[k] - 17, bend = Math.min(14, 5 * (i - best[n - 1]));
        lab.svg.make("path", { d: `M${from} ${y}Q${(from + to) / 2} ${y - bend} ${to} ${y}`, class: `line g${k}` }, plot.lines);
      });
      letters.forEach((letter, i) => {
        if (best.includes(i)) lab.svg.make("rect", { x: place(letters, i) - 13, y: top[k] - 17, width: 26, height: 25, rx: 5, class: `tile g${k}` }, plot.lines);
        plot.text(place(letters, i), top[k] + 2, letter, "letter middle");
      });
    });
    const left = 78, span = Math.max(60, (width - left - 86) / 2), y0 = 140, step = (height - y0 - 12) / SHOWN;
    const most = Math.max(1e-9, ...result.rows.slice(0, SHOWN).flatMap(({ a, b }) => [a.weight, b.weight]));
    plot.text(left, y0 - 14, "in the first", "tick");
    plot.text(left + span + 8, y0 - 14, "in the second", "tick");
    plot.text(width - 8, y0 - 14, "product", "tick end");
    result.rows.slice(0, SHOWN).forEach(({ u, a, b, product }, i) => {
      const y = y0 + i * step;
      if (i === result.pick - 1) lab.svg.make("rect", { x: 4, y: y - 1, width: width - 8, height: step - 1, rx: 4, class: "chosen" }, plot.lines);
      plot.text(12, y + step / 2 + 4, u, "name");
      [a, b].forEach((entry, k) => {
        const x = left + k * (span + 8);
        lab.svg.make("rect", { x, y: y + step * 0.22, width: Math.max(1, ((span - 44) * entry.weight) / most), height: step * 0.5, rx: 2, class: `tile g${k}` }, plot.lines);
        plot.text(x + Math.max(1, ((span - 44) * entry.weight) / most) + 4, y + step / 2 + 4, number(entry.weight, 3), "tick");
      });
      plot.text(width - 10, y + step / 2 + 4, number(product, 3), "name end");
    });
  }

  return {
    id: "subsequences", name: "Strings", title: "Subsequences that two words share",
    lead: "Two words are alike if they have the same letters in the same order, even with gaps between them. Each gap costs a factor λ. The kernel is the sum of the products in the table.",
    picture: "Two words, the letters of one common subsequence, and a table of the weights of all",
    help: "Type two words of up to ten letters; the slider picks a row of the table, and the arcs show where it stands with the fewest gaps.",
    bounds: { x: [0, 1], y: [0, 1], ratio: 0.75, tall: 470 },
    start: () => ({ first: "statistics", second: "artistic", k: 3, decay: 0.5, pick: 1 }),
    controls: [
      { kind: "text", key: "first", label: "First word", longest: 10 },
      { kind: "text", key: "second", label: "Second word", longest: 10 },
      { kind: "slider", key: "k", label: "Letters k", low: 1, high: 4, step: 1 },
      { kind: "slider", key: "decay", label: "Decay λ for each gap", low: 0, high: 1, step: 0.05 },
      { kind: "slider", key: "pick", label: "Row of the table", low: 1, high: SHOWN, step: 1, most: (state, result) => Math.max(1, Math.min(SHOWN, result.rows.length)), value: (state, result) => Math.max(1, result.pick) },
    ],
    compute, draw,
    words: (state, result) => result.rows.length
      ? `${result.rows.length} subsequences of ${state.k} letters in common${result.rows.length > SHOWN ? `, the ${SHOWN} heaviest shown` : ""}: the words are ${number(100 * result.similarity, 3)} % alike.`
      : `No subsequence of ${state.k} letters in common.`,
    numbers: (state, result) => [
      { name: "Kernel k(x, z)", key: "kernel", value: result.value, text: number(result.value, 7) },
      { name: "Normalised", key: "similarity", value: result.similarity },
      { name: "k(x, x)", key: "first", value: result.own[0] },
      { name: "k(z, z)", key: "second", value: result.own[1] },
      { name: "Features of the first", key: "count-first", value: result.counts[0] },
      { name: "Features of the second", key: "count-second", value: result.counts[1] },
    ],
    formula: () => `
      <p>k(x, z) = Σ<sub>u</sub> φ<sub>u</sub>(x) φ<sub>u</sub>(z), &nbsp; u any string of k letters</p>
      <p>φ<sub>u</sub>(x) = Σ λ<sup>gaps</sup> over all places i₁ &lt; … &lt; i<sub>k</sub> at which x spells u</p>
      <p>normalised: k(x, z)/√(k(x, x) k(z, z))</p>
      <p class="quiet">Gaps are the letters between the first and the last one that are left out. Python does not list the features: a dynamic program over both words takes k·|x|·|z| steps.</p>`,
    python: (state) => `from mercer import Subsequence

kernel = Subsequence(${state.k}, ${state.decay})
first, second = ${JSON.stringify(state.first)}, ${JSON.stringify(state.second)}
value = kernel([first], [second])[0, 0]
K = kernel([first, second])
alike = kernel.normalized()([first], [second])[0, 0]`,
  };
})());

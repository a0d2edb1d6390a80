// ---- support vector machines as boxes -------------------------------------------------------------
lab.svm = (() => {
  // Hulls whose squared distance is below this share of the largest k(x, x) meet: the products that
  // it is a sum of are known to 1e-16 of that, and five more digits are needed for a gap of 1e-6.
  const MEET = 1e-11;

  /** Soft margin: min ½‖w‖² + C Σ ξᵢ with yᵢ(f(xᵢ) + b) ≥ 1 − ξᵢ. */
  function soft(K, y, C, warm) {
    const n = y.length;
    const found = lab.boxQP.solve({
      K, n, p: y, lo: y.map((s) => (s > 0 ? 0 : -C)), hi: y.map((s) => (s > 0 ? C : 0)),
      start: new Array(n).fill(0), group: new Array(n).fill(0), groups: 1, nothing: 0,
    }, warm);
    const b = found.biases[0], f = y.map((s, i) => s - found.F[i] + b);
    return { ...answer(found, found.beta, y, f, b), separable: true };
  }

  /** Hard margin: the nearest points of the two convex hulls; their distance is 2/‖w‖. */
  function hard(K, y, warm) {
    const n = y.length, start = new Array(n).fill(0);
    start[y.indexOf(1)] = 1;
    start[y.indexOf(-1)] = -1;
    let scale = 0;
    for (let i = 0; i < n; i++) scale = Math.max(scale, K[i * n + i]);
    const found = lab.boxQP.solve({
      K, n, nothing: MEET * scale / 2, p: new Array(n).fill(0), lo: y.map((s) => (s > 0 ? 0 : -1)),
      hi: y.map((s) => (s > 0 ? 1 : 0)), start, group: y.map((s) => (s > 0 ? 0 : 1)), groups: 2,
    }, warm);
    let squared = 0, least = Infinity, most = -Infinity;
    for (let i = 0; i < n; i++) squared -= found.beta[i] * found.F[i];
    const size = 2 / squared, f = y.map((_, i) => -size * found.F[i]);
    y.forEach((s, i) => {
      if (s > 0) least = Math.min(least, f[i]);
      else most = Math.max(most, f[i]);
    });
    const margin = (least - most) / 2, b = -(least + most) / 2;
    // Beyond rounding the hulls meet: one point is a mean of either class, and no line has it on both sides.
    if (!(squared > MEET * scale) || !(margin > 0)) {
      return { separable: false, hull: found.beta, weights: found.beta, distance: Math.sqrt(Math.max(squared, 0)) };
    }
    const signed = found.beta.map((v) => size * v);
    const result = answer(found, signed, y, f.map((v) => v + b), b);
    result.dual = size; // Σα − ½‖w‖² = 4/d² − 2/d²
    result.primal = size / margin ** 2; // w and b stretched until every constraint holds
    result.gap = result.primal - result.dual;
    result.relativeGap = lab.boxQP.relative(result.primal, result.dual);
    result.stationarity *= size;
    result.primalFeasibility = Math.max(0, ...y.map((s, i) => 1 - s * (f[i] + b)));
    result.complementarity = Math.max(...y.map((s, i) => Math.abs(signed[i] * (1 - s * (f[i] + b)))));
    return { ...result, separable: true, weights: found.beta };
  }

  function answer(found, beta, y, f, b) {
    const alpha = y.map((s, i) => s * beta[i] || 0);
    const slack = y.map((s, i) => Math.max(0, 1 - s * f[i]));
    let norm2 = 0;
    for (let i = 0; i < y.length; i++) norm2 += beta[i] * (f[i] - b);
    return { ...found, beta, weights: found.beta, alpha, slack, f, b, norm2, margin: 1 / Math.sqrt(norm2) };
  }

  return { soft, hard };
})();

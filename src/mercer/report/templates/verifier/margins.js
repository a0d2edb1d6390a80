// ---- support vector machines on a Gram matrix -------------------------------------------------
const CLASSES = ["C-SVC", "C-SVC without bias", "ν-SVC"];
const BOXES = [...CLASSES, "one-class SVM", "ε-SVR", "ν-SVR"];

/** Return p, lo, hi, the groups and their sums of a quadratic problem. */
function boxOf(problem, data) {
  const { kind, hard } = problem;
  const y = data.targets, n = y.length;
  const C = hard ? new Float64Array(n).fill(Infinity) : data.C;
  demand(C, "a problem has no prices C");
  const half = hard ? 0 : ((problem.nu ?? 0) * sumOf(C)) / 2;
  const zeros = new Float64Array(n);
  if (kind === "one-class SVM") {
    return { p: zeros, lo: zeros, hi: C, group: () => 0, sums: [2 * half] };
  }
  if (CLASSES.includes(kind)) {
    demand(signsAreGood(y), "the signs of classes are +1 and −1");
    const split = kind === "ν-SVC";
    return {
      p: split ? zeros : y,
      lo: C.map((c, i) => (y[i] < 0 ? -c : 0)),
      hi: C.map((c, i) => (y[i] > 0 ? c : 0)),
      group: (t) => (split && y[t] < 0 ? 1 : 0),
      sums: split ? [half, -half] : kind === "C-SVC" ? [0] : [],
    };
  }
  const tube = kind === "ε-SVR";
  const p = new Float64Array(2 * n), lo = new Float64Array(2 * n), hi = new Float64Array(2 * n);
  for (let i = 0; i < n; i++) {
    p[i] = tube ? y[i] - problem.epsilon : y[i];
    p[n + i] = tube ? y[i] + problem.epsilon : y[i];
    hi[i] = C[i];
    lo[n + i] = -C[i];
  }
  return { p, lo, hi, group: (t) => (tube || t < n ? 0 : 1), sums: tube ? [0] : [half, -half] };
}

/** The coefficients of the rows; a regression has two multipliers on each. */
function boxColumns(problem, { targets, multipliers: beta }) {
  const n = targets.length;
  demand(beta.length === n || beta.length === 2 * n, "a problem has not as many multipliers as rows");
  return [beta.length === n ? beta : beta.slice(0, n).map((b, i) => b + beta[n + i])];
}

// max pᵀβ − ½βᵀKβ over lo ≤ β ≤ hi with fixed sums; primal ½βᵀKβ + Σ (hi r⁺ − lo r⁻) + Σ b s with
// r = p − Kβ − b. Where a bound is infinite r is a fault: f/(1 − t) keeps yf ≥ 1 that f breaks by t.
function judgeBox(problem, data, [{ f, size }]) {
  const { p, lo, hi, group, sums } = boxOf(problem, data);
  const beta = data.multipliers, biases = data.biases, n = data.targets.length;
  const sound = beta.length === p.length && biases.length === sums.length;
  demand(sound, "a problem has not as many multipliers or biases as it should");
  const highest = sums.map(() => -Infinity), lowest = sums.map(() => Infinity);
  const drift = sums.map((sum) => -sum);
  let square = 0, linear = 0, price = 0, outside = 0, products = 0, missed = 0, steepSlope = 0;
  let values = 0, most = 0, steepest = 0, hardest = 0;
  for (let t = 0; t < p.length; t++) {
    const g = group(t), b = beta[t], at = t % n, bias = sums.length ? biases[g] : 0;
    const F = p[t] - f[at], r = F - bias;
    const bound = r > 0 ? hi[t] : lo[t], soft = Number.isFinite(bound);
    if (sums.length) {
      if (b < hi[t]) highest[g] = Math.max(highest[g], F);
      if (b > lo[t]) lowest[g] = Math.min(lowest[g], F);
      drift[g] += b;
    } else if (F > 0 ? b < hi[t] : b > lo[t]) steepSlope = Math.max(steepSlope, Math.abs(F));
    square += b * f[at];
    linear += p[t] * b;
    outside = Math.max(outside, lo[t] - b, b - hi[t]);
    const large = size[at] + Math.abs(p[t]) + Math.abs(bias);
    if (soft) {
      price += bound * r;
      products = Math.max(products, (bound - b) * r);
    } else {
      missed = Math.max(missed, Math.abs(r));
      hardest = Math.max(hardest, large);
    }
    const limit = Math.max(-lo[t], hi[t]), steep = Number.isFinite(limit) ? limit : Math.abs(b);
    values += (Math.abs(b) + steep) * large;
    most = Math.max(most, large);
    steepest = Math.max(steepest, steep * large);
  }
  let stretch = 0;
  if (missed > 0 && CLASSES.includes(problem.kind)) {
    stretch = missed < 1 ? (Math.abs(square) / 2) * ((1 - missed) ** -2 - 1) : Infinity;
  }
  return finding({
    primal: square / 2 + price + dot(biases, sums) + stretch,
    dual: linear - square / 2,
    stationarity: Math.max(steepSlope, ...sums.map((_, g) => highest[g] - lowest[g])),
    primal_feasibility: missed,
    dual_feasibility: Math.max(outside, ...drift.map(Math.abs)),
    complementarity: products,
    valueRounding: ROUNDING * (values + Math.abs(square) * hardest),
    residualRounding: ROUNDING * most,
    productRounding: ROUNDING * steepest,
    mass: mass(beta),
    fault: missed > HARD ? "a constraint without a price is broken" : "",
  });
}

function jointColumns(problem, { targets, multipliers, biases }) {
  const m = biases.length;
  demand(m >= 2 && multipliers.length === m * targets.length, "a problem has not one multiplier for each row and class");
  return columnsOf(multipliers, m);
}

// min ½ Σ ‖w_c‖² + Σ Cξ, ξ of the margins g_c = 1 − (f_y − f_c), the strongest or all above 0, and
// max Σ α_y − ½ Σ α_cᵀKα_c over α_c ≤ 0 for c ≠ y, Σ_c α_c = 0, and α_y ≤ C or −α_c ≤ C.
function judgeJoint(problem, data, found) {
  const { targets: labels, C, multipliers: alpha, biases } = data;
  const m = biases.length, strongest = problem.kind === "Crammer–Singer SVM";
  demand(labelsAreGood(labels, m), "rows are of classes that are not known");
  demand(problem.free || biases.every((b) => b === 0), "there are biases, or too few");
  let square = 0, loss = 0, gain = 0, worst = 0, outside = 0, products = 0, values = 0, most = 0, steep = 0;
  const sums = new Float64Array(m), margins = new Float64Array(m);
  for (let i = 0; i < labels.length; i++) {
    const y = labels[i], total = alpha[i * m + y], own = found[y].f[i] + biases[y];
    let best = 0, least = Infinity, row = 0, large = 0, heavy = 0;
    for (let c = 0; c < m; c++) {
      const a = alpha[i * m + c];
      margins[c] = c === y ? 0 : 1 - own + found[c].f[i] + biases[c];
      best = Math.max(best, margins[c]);
      row += a;
      sums[c] += a;
      heavy += Math.abs(a);
      square += a * found[c].f[i];
      large = Math.max(large, found[c].size[i] + Math.abs(biases[c]));
    }
    outside = Math.max(outside, Math.abs(row), strongest ? total - C[i] : 0);
    for (let c = 0; c < m; c++) {
      const held = c === y ? 0 : -alpha[i * m + c], g = margins[c];
      outside = Math.max(outside, -held);
      if (strongest) {
        if (c === y ? total < C[i] : held > 0) least = Math.min(least, g);
        products = Math.max(products, (c === y ? Math.max(C[i] - total, 0) : held) * (best - g));
      } else {
        outside = Math.max(outside, held - C[i]);
        if (held < C[i]) worst = Math.max(worst, g);
        if (held > 0) worst = Math.max(worst, -g);
        const room = g > 0 ? (c === y ? 0 : C[i] - held) : held;
        products = Math.max(products, room * Math.abs(g));
        loss += C[i] * Math.max(g, 0);
      }
    }
    if (strongest) {
      worst = Math.max(worst, best - least);
      loss += C[i] * best;
    }
    gain += total;
    large = 2 * large + 1;
    values += ((strongest ? 1 : m - 1) * C[i] + heavy) * large;
    most = Math.max(most, large);
    steep = Math.max(steep, C[i] * large);
  }
  return finding({
    primal: square / 2 + loss,
    dual: gain - square / 2,
    stationarity: worst,
    dual_feasibility: problem.free ? Math.max(outside, largest(sums)) : outside,
    complementarity: products,
    valueRounding: ROUNDING * values,
    residualRounding: ROUNDING * most,
    productRounding: ROUNDING * steep,
    mass: mass(alpha),
  });
}

/** (Σ ∣x∣^p)^(1/p), scaled by the largest so that powers neither overflow nor vanish. */
function norm(x, p) {
  const most = largest(x);
  if (p === Infinity || most === 0) return most;
  let sum = 0;
  for (const value of x) sum += (Math.abs(value) / most) ** p;
  return most * sum ** (1 / p);
}

// Machines that share the weights d of kernels, ‖d‖_p ≤ 1: with q_m = Σ βᵀK_mβ the primal problem has
// ½(Σ (d_m √q_m)^s)^{2/s}, s = 2p/(p + 1), in the place of ½ Σ d_m q_m, the dual one ½‖q‖_{p/(p−1)}.
function judgeKernels({ problem, data, grams, parts }) {
  const d = data.kernel_weights, p = problem.p;
  demand(d.length === grams.length, "there is not one weight for each kernel");
  demand(p >= 1 && d.every((x) => x >= 0), "weights of kernels are 0 or more, and p ≥ 1");
  const q = new Float64Array(d.length);
  let sizes = 0;
  const found = parts.map((part) => {
    const [beta] = boxColumns(part.problem, part.data);
    const all = grams.map((g) => part.products.get(g)[0]);
    const sum = pairOf(beta.length);
    all.forEach(({ f, size }, k) => {
      for (let i = 0; i < beta.length; i++) {
        sum.f[i] += d[k] * f[i];
        sum.size[i] += d[k] * size[i];
      }
      q[k] += dot(beta, f);
      sizes += dot(beta.map(Math.abs), size);
    });
    return judgeBox(part.problem, part.data, [sum]);
  });
  const plain = dot(d, q), roots = d.map((x, k) => x * Math.sqrt(Math.max(q[k], 0)));
  const block = norm(roots, (2 * p) / (p + 1)) ** 2;
  const whole = norm(q.map((x) => Math.max(x, 0)), p === 1 ? Infinity : p / (p - 1));
  const sum = (name) => found.reduce((a, one) => a + one[name], 0);
  const worst = (name) => Math.max(...found.map((one) => one[name]));
  return finding({
    primal: sum("primal") + (block - plain) / 2,
    dual: sum("dual") + (plain - whole) / 2,
    stationarity: worst("stationarity"),
    primal_feasibility: worst("primal_feasibility"),
    dual_feasibility: worst("dual_feasibility"),
    complementarity: worst("complementarity"),
    valueRounding: sum("valueRounding") + ROUNDING * sizes,
    residualRounding: worst("residualRounding"),
    productRounding: worst("productRounding"),
    mass: sum("mass"),
    fault: found.map((one) => one.fault).join(""),
  });
}

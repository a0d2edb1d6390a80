// ---- squared and logistic losses on a Gram matrix ---------------------------------------------
const MANIFOLDS = ["squared errors", "the squared hinge", "the hinge"].map(
  (loss) => `manifold regularisation with ${loss}`,
);

function ridgeColumns(problem, { targets, multipliers }) {
  demand(sameLength(targets.length, multipliers), "a problem has not one coefficient for each row");
  return [multipliers];
}

// λ times min ½ Σ (y − f − b)²/d + ½‖f‖² and cᵀ(y − b) − ½cᵀKc − ½ Σ dc²; d = λ/w, or noise.
function judgeRidge(problem, data, [{ f, size }]) {
  const { targets: y, multipliers: c, biases, weights, noise } = data;
  const penalty = problem.lambda, b = biases[0];
  demand(positive(penalty) && biases.length === 1, "a ridge regression needs λ > 0");
  demand(b === 0 || problem.intercept, "a ridge regression without an intercept has one");
  demand(noise || (weights && weights.every((x) => x > 0)), "a ridge regression needs weights above 0");
  let misfit = 0, linear = 0, shrunk = 0, residual = 0, missed = 0, values = 0, most = 0;
  for (let i = 0; i < y.length; i++) {
    const d = noise ? noise[i] : penalty / weights[i], w = d > 0 ? 1 / d : 0;
    const error = y[i] - b - f[i], apart = Math.abs(error - d * c[i]);
    const large = size[i] + Math.abs(y[i]) + Math.abs(b) + Math.abs(d * c[i]);
    misfit += w * error * error;
    linear += c[i] * (y[i] - b);
    shrunk += d * c[i] * c[i];
    if (d > 0) residual = Math.max(residual, apart);
    else missed = Math.max(missed, apart);
    values += w * (Math.abs(error) * large + ROUNDING * large * large) + Math.abs(c[i]) * large;
    most = Math.max(most, large);
  }
  const square = dot(c, f);
  return finding({
    primal: (penalty * (misfit + square)) / 2,
    dual: penalty * (linear - square / 2 - shrunk / 2),
    stationarity: residual,
    primal_feasibility: missed,
    dual_feasibility: problem.intercept ? Math.abs(sumOf(c)) : 0,
    valueRounding: ROUNDING * penalty * values,
    residualRounding: ROUNDING * most,
    mass: mass(c),
    fault: missed > HARD * largest(y) ? "a target without noise is missed" : "",
  });
}

function logisticColumns(problem, { targets, coefficients, multipliers, biases }) {
  const m = biases.length, count = m * targets.length;
  demand(sameLength(count, coefficients, multipliers), "a problem has not one multiplier for each row and function");
  return [...columnsOf(coefficients, m), ...columnsOf(multipliers, m)];
}

/** Losses at values F, entropies of a share of the multipliers, and what is wrong with these. */
function logisticValues({ targets: labels, C, multipliers: beta, biases }, F, part) {
  const n = labels.length, m = biases.length, classes = m === 1 ? 2 : m;
  demand(sameLength(n, C) && beta.length === n * m && C.every((x) => x > 0), "C is above 0 for all");
  demand(labelsAreGood(labels, classes), "rows are of classes that are not known");
  let loss = 0, entropy = 0, wrong = 0, sizes = 0;
  const scores = new Float64Array(classes);
  for (let i = 0; i < n; i++) {
    const own = labels[i];
    let most = m === 1 ? 0 : -Infinity, large = 0;
    for (let c = 0; c < m; c++) {
      const score = F[c].f[i] + biases[c];
      scores[m === 1 ? 1 : c] = score;
      most = Math.max(most, score);
      large = Math.max(large, F[c].size[i] + Math.abs(biases[c]));
    }
    let sum = 0, all = 0;
    for (let c = 0; c < classes; c++) {
      sum += Math.exp(scores[c] - most);
      const weight = m === 1 ? (c ? 1 : -1) * beta[i] : beta[i * m + c];
      const share = Number(c === own) - (part * weight) / C[i];
      all += share;
      wrong = Math.max(wrong, -share, share - 1);
      const p = Math.min(Math.max(share, 0), 1);
      if (p > 0) entropy -= C[i] * p * Math.log(p);
    }
    wrong = Math.max(wrong, Math.abs(all - 1));
    loss += C[i] * (Math.log(sum) + most - scores[own]);
    sizes += C[i] * (2 * large + 1);
  }
  const fault = wrong > FEASIBLE ? "shares of classes are below 0 or above 1" : "";
  return { loss, entropy, sizes, fault };
}

const logisticDrift = (problem, beta, m) =>
  problem.intercept ? largest(columnsOf(beta, m).map(sumOf)) : 0;

// min ½ Σ ‖f_c‖² + Σ C(log Σ exp(f_c + b_c) − f_y − b_y) and Σ C H(p) − ½ Σ ‖g_c‖², where
// β = C([c = y] − p) and g_c = Σ β_c φ(x); two classes share one function.
function judgeLogistic(problem, data, found) {
  const beta = data.multipliers, m = data.biases.length;
  const F = found.slice(0, m), G = found.slice(m);
  const { loss, entropy, sizes, fault } = logisticValues(data, F, 1);
  let f2 = 0, g2 = 0, apart = 0, sizeF = 0, sizeG = 0;
  for (let c = 0; c < m; c++) {
    f2 += dot(columnOf(data.coefficients, m, c), F[c].f);
    g2 += dot(columnOf(beta, m, c), G[c].f);
    apart = Math.max(apart, top(F[c].f.length, (t) => Math.abs(G[c].f[t] - F[c].f[t])));
    sizeF = Math.max(sizeF, largest(F[c].size));
    sizeG = Math.max(sizeG, largest(G[c].size));
  }
  return finding({
    primal: loss + f2 / 2,
    dual: entropy - g2 / 2,
    stationarity: apart,
    dual_feasibility: logisticDrift(problem, beta, m),
    valueRounding: ROUNDING * (sizes + f2 + mass(beta) * sizeG),
    residualRounding: ROUNDING * (sizeF + sizeG),
    mass: mass(beta),
    fault,
  });
}

function modeColumns(problem, { targets, multipliers: c }) {
  demand(sameLength(targets.length, c), "a problem has not one coefficient for each row");
  const inside = c.map((x, i) => (targets[i] ? 1 : -1) * Math.min(Math.max(targets[i] ? x : -x, 0), 1));
  return [c, inside];
}

// min Σ log(1 + exp(−sf)) + ½‖f‖², s = ±1, and Σ H(sβ) − ½βᵀKβ over 0 ≤ sβ ≤ 1.
function judgeMode(problem, data, [{ f, size }, image]) {
  const { targets, multipliers: c } = data;
  demand(labelsAreGood(targets, 2), "rows are of classes that are not known");
  let loss = 0, entropy = 0, square = 0, other = 0, worst = 0, values = 0;
  const [, beta] = modeColumns(problem, data);
  for (let i = 0; i < c.length; i++) {
    const s = targets[i] ? 1 : -1, odds = Math.exp(-Math.abs(f[i])), share = s * beta[i];
    loss += Math.log1p(odds) + Math.max(-s * f[i], 0);
    for (const p of [share, 1 - share]) if (p > 0) entropy -= p * Math.log(p);
    square += c[i] * f[i];
    other += beta[i] * image.f[i];
    worst = Math.max(worst, Math.abs(c[i] - (targets[i] - (f[i] > 0 ? 1 : odds) / (1 + odds))));
    values += (1 + Math.abs(c[i])) * (size[i] + 1);
  }
  return finding({
    primal: loss + square / 2,
    dual: entropy - other / 2,
    stationarity: worst,
    valueRounding: ROUNDING * values,
    residualRounding: ROUNDING * (1 + largest(size)),
    mass: mass(c),
  });
}

/** R = μLᵖ of a graph with weights above 0, L = D − W or I − D^(−½)WD^(−½): returns v ↦ Rv or ∣R∣v. */
function roughness(problem, { edges, edge_weights: weights }, n) {
  const { smoothness, power, normalized } = problem, degrees = new Float64Array(n);
  demand(edges.length === 2 * weights.length, "a graph has edges that it cannot have");
  for (let e = 0; e < weights.length; e++) {
    const a = edges[2 * e], b = edges[2 * e + 1];
    const good = labelsAreGood([a, b], n) && a !== b && weights[e] > 0;
    demand(good, "a graph has edges that it cannot have");
    degrees[a] += weights[e];
    degrees[b] += weights[e];
  }
  demand(smoothness >= 0 && Number.isInteger(power) && power >= 1, "a graph has a weight below 0");
  const own = normalized ? degrees.map((x) => Number(x > 0)) : degrees;
  return (v, size = false) => {
    for (let step = 0; step < power; step++) {
      const result = v.map((x, i) => own[i] * x);
      for (let e = 0; e < weights.length; e++) {
        const a = edges[2 * e], b = edges[2 * e + 1];
        const w = (normalized ? weights[e] / Math.sqrt(degrees[a] * degrees[b]) : weights[e]) * (size ? 1 : -1);
        result[a] += w * v[b];
        result[b] += w * v[a];
      }
      v = result;
    }
    return v.map((x) => smoothness * x);
  };
}

function manifoldColumns(problem, data) {
  const { targets, coefficients, multipliers, values, weights } = data, n = targets.length;
  const good = sameLength(n, coefficients, multipliers, values, weights) && positive(problem.penalty);
  demand(good, "a problem has not one number for each row");
  const bent = roughness(problem, data, n)(values);
  return [coefficients, multipliers.map((b, i) => (b - bent[i]) / problem.penalty)];
}

// min Σ losses of labelled rows + ½a‖f‖² + ½fᵀRf, and Σ (βy − β²/2w) − ½sᵀRs − ½a‖γ‖² for any s and β
// with aγ = β − Rs; for the plain hinge without the square, and 0 ≤ yβ ≤ w.
function judgeManifold(problem, data, [{ f, size }, image]) {
  const { targets: y, weights: w, multipliers: beta, values: s, coefficients: c, biases } = data;
  const [squares, , hinge] = MANIFOLDS.map((kind) => problem.kind === kind);
  const a = problem.penalty, b = biases[0], n = y.length;
  demand(biases.length === 1 && (b === 0 || problem.intercept), "a machine without a constant has one");
  const R = roughness(problem, data, n), gamma = manifoldColumns(problem, data)[1];
  const sizes = size.map((x, i) => x + Math.abs(y[i]) + Math.abs(b));
  let loss = 0, gain = 0, outside = 0, values = 0;
  for (let i = 0; i < n; i++) {
    demand(w[i] > 0 || beta[i] === 0, "a row without a label has a multiplier");
    demand(squares || w[i] === 0 || Math.abs(y[i]) === 1, "the signs of classes are +1 and −1");
    let error = y[i] - f[i] - b;
    if (!squares && !(y[i] * error > 0)) error = 0;
    const signed = y[i] * beta[i], rounded = ROUNDING * sizes[i] * sizes[i];
    loss += hinge ? w[i] * Math.abs(error) : (w[i] * error * error) / 2;
    gain += signed - (hinge || w[i] === 0 ? 0 : (beta[i] * beta[i]) / w[i] / 2);
    if (!squares) outside = Math.max(outside, -signed, hinge ? signed - w[i] : 0);
    values += w[i] * (hinge ? sizes[i] : Math.abs(error) * sizes[i] + rounded);
    values += a * (Math.abs(c[i]) * size[i] + Math.abs(gamma[i]) * image.size[i]) + Math.abs(beta[i]) * sizes[i];
  }
  const sized = s.map(Math.abs);
  values += dot(sizes, R(sizes, true)) + dot(sized, R(sized, true));
  return finding({
    primal: loss + (a * dot(c, f) + dot(f, R(f))) / 2,
    dual: gain - (dot(s, R(s)) + a * dot(gamma, image.f)) / 2,
    stationarity: a * top(n, (i) => Math.abs(image.f[i] - f[i])),
    dual_feasibility: problem.intercept ? Math.max(outside, Math.abs(sumOf(beta))) : outside,
    valueRounding: ROUNDING * values,
    residualRounding: ROUNDING * a * (largest(size) + largest(image.size)),
    mass: mass(beta),
  });
}

// ---- linear machines: weights of columns ------------------------------------------------------

// min ½‖w‖² + Σ φ(p − w·x̃) and pᵀβ − ε‖β‖₁ − ½ Σ Dβ² − ½‖Σ βx̃‖²; D = 1/2C for squared losses.
function judgeLinear(problem, data, rows) {
  const { targets: p, C, multipliers: beta, w } = data;
  const { squared, epsilon, classes } = problem;
  demand(!classes || signsAreGood(p), "the signs of classes are +1 and −1");
  const { f, size } = rows.dot(w), total = rows.combine(beta);
  let loss = 0, cost = 0, worst = 0, outside = 0, products = 0;
  let values = 0, most = 0, steepest = 0;
  for (let i = 0; i < p.length; i++) {
    const limit = squared ? Infinity : C[i], D = squared ? 0.5 / C[i] : 0;
    const lo = classes && p[i] > 0 ? 0 : -limit, hi = classes && p[i] < 0 ? 0 : limit;
    const r = p[i] - f[i], b = beta[i];
    const charged = (r > 0 && hi > 0) || (r < 0 && lo < 0);
    const excess = charged ? Math.max(Math.abs(r) - epsilon, 0) : 0;
    const own = squared ? (excess * excess) / (2 * D) : C[i] * excess;
    const inside = Math.min(Math.max(b, lo), hi);
    const price = epsilon * Math.abs(inside) + (D * inside * inside) / 2;
    const slope = r - D * b;
    if (b < hi) worst = Math.max(worst, slope - (b >= 0 ? epsilon : -epsilon));
    if (b > lo) worst = Math.max(worst, -slope + (b > 0 ? epsilon : -epsilon));
    loss += own;
    cost += price;
    outside = Math.max(outside, Math.abs(b - inside));
    products = Math.max(products, own + price - inside * r);
    const large = size[i] + Math.abs(p[i]) + epsilon;
    const steep = Math.max(C[i] * Math.max(1, size[i]), Math.abs(b));
    values += steep * large;
    most = Math.max(most, large);
    steepest = Math.max(steepest, steep * large);
  }
  return finding({
    primal: dot(w, w) / 2 + loss,
    dual: dot(p, beta) - cost - dot(total.f, total.f) / 2,
    stationarity: worst,
    dual_feasibility: outside,
    complementarity: products,
    valueRounding: ROUNDING * (values + dot(total.size, total.f.map(Math.abs))),
    residualRounding: ROUNDING * most,
    productRounding: ROUNDING * steepest,
    mass: mass(beta),
  });
}

// min ‖w‖₁ + Σ C max(0, 1 − y w·x̃)² and Σ α − Σ α²/4C over α ≥ 0, ∣Σ αyx̃∣ ≤ 1: α is the best multiple
// of 2C max(0, 1 − y w·x̃) that keeps the constraints.
function judgeSparseMargin(problem, data, rows) {
  const { targets: y, C, w } = data, n = y.length;
  demand(signsAreGood(y) && C.every((x) => x > 0), "the signs of classes are +1 and −1");
  const { f, size } = rows.dot(w);
  const alpha = C.map((c, i) => 2 * c * Math.max(0, 1 - y[i] * f[i]));
  const slopes = rows.combine(alpha.map((a, i) => y[i] * a));
  const worst = top(w.length, (j) => Math.abs(slopes.f[j]) + (n + 16) * EPSILON * slopes.size[j]);
  let loss = 0, bend = 0, values = 0;
  for (let i = 0; i < n; i++) {
    loss += (alpha[i] * alpha[i]) / (4 * C[i]);
    bend += (alpha[i] * alpha[i]) / (2 * C[i]);
  }
  const share = Math.min(bend > 0 ? sumOf(alpha) / bend : 0, worst > 0 ? 1 / worst : Infinity);
  for (let i = 0; i < n; i++) values += (1 + share) * alpha[i] * (1 + size[i]) + share * alpha[i];
  let apart = 0, slack = 0, over = 0;
  for (let j = 0; j < w.length; j++) {
    const v = slopes.f[j], pull = Math.abs(share * v);
    apart = Math.max(apart, w[j] !== 0 ? Math.abs(v - Math.sign(w[j])) : Math.abs(v) - 1);
    slack = Math.max(slack, Math.abs(w[j]) * Math.abs(1 - pull));
    over = Math.max(over, pull - 1);
  }
  const moved = rows.combine(C.map((c, i) => c * (1 + size[i]))).size;
  return finding({
    primal: mass(w) + loss,
    dual: share * sumOf(alpha) - share * share * loss,
    stationarity: apart,
    dual_feasibility: over,
    complementarity: slack,
    valueRounding: ROUNDING * values,
    residualRounding: ROUNDING * largest(moved),
    productRounding: ROUNDING * largest(w) * (1 + share * largest(slopes.size)),
    mass: 1,
  });
}

// min ½ Σ ‖w_c‖² + Σ C max_c ([c ≠ y] + (w_c − w_y)·x̃) and −½ Σ ‖Σ α_cx̃‖² − Σ α over c ≠ y, with
// Σ_c α_c = 0 and α_c ≤ C[c = y].
function judgeLinearJoint(problem, data, rows) {
  const { targets: labels, C, multipliers: alpha, w } = data, n = labels.length, m = alpha.length / n;
  demand(Number.isInteger(m) && m > 1 && w.length === rows.width * m, "there are too few multipliers");
  demand(labelsAreGood(labels, m), "rows are of classes that are not known");
  const F = columnsOf(w, m).map((own) => rows.dot(own));
  const totals = columnsOf(alpha, m).map((own) => rows.combine(own));
  let loss = 0, cost = 0, worst = 0, outside = 0, products = 0, values = 0, most = 0, steep = 0;
  for (let i = 0; i < n; i++) {
    const y = labels[i];
    let best = -Infinity, least = Infinity, sum = 0, large = 0;
    for (let c = 0; c < m; c++) {
      best = Math.max(best, F[c].f[i] + Number(c !== y));
      large = Math.max(large, F[c].size[i]);
      sum += alpha[i * m + c];
    }
    for (let c = 0; c < m; c++) {
      const score = F[c].f[i] + Number(c !== y), a = alpha[i * m + c];
      const room = (c === y ? C[i] : 0) - a;
      if (room > 0) least = Math.min(least, score);
      if (c !== y) cost += a;
      outside = Math.max(outside, -room);
      products = Math.max(products, room * (best - score));
    }
    outside = Math.max(outside, Math.abs(sum));
    worst = Math.max(worst, best - least);
    loss += C[i] * (best - F[y].f[i]);
    large = 1 + 2 * large;
    values += C[i] * large;
    most = Math.max(most, large);
    steep = Math.max(steep, C[i] * large);
  }
  let square = 0;
  for (const { f, size } of totals) {
    square += dot(f, f);
    values += dot(size, f.map(Math.abs));
  }
  return finding({
    primal: dot(w, w) / 2 + loss,
    dual: -square / 2 - cost,
    stationarity: worst,
    dual_feasibility: outside,
    complementarity: products,
    valueRounding: ROUNDING * (values + dot(w, w)),
    residualRounding: ROUNDING * most,
    productRounding: ROUNDING * steep,
    mass: mass(alpha),
  });
}

// min ρ Σ ∣W∣ + ½(1 − ρ) Σ W² + logistic losses and Σ C H(p) − Σ max(0, ∣V∣ − ρ)²/2(1 − ρ), V = Σ x̃β;
// with ρ = 1 the last sum is a constraint, without penalty V = 0 up to rounding.
function judgeLinearLogistic(problem, data, rows) {
  const { w: W, multipliers: beta, biases } = data, rho = problem.l1, m = biases.length;
  demand(rho >= 0 && rho <= 1 && W.length === rows.width * m, "the share of a penalty is not one");
  const F = columnsOf(W, m).map((own) => rows.dot(own));
  const pulls = columnsOf(beta, m).map((own) => rows.combine(own));
  const { loss, entropy, sizes, fault } = logisticValues(data, F, 1);
  const drift = logisticDrift(problem, beta, m);
  const V = W.map((_, t) => pulls[t % m].f[Math.floor(t / m)]);
  const S = W.map((_, t) => pulls[t % m].size[Math.floor(t / m)]);
  const reach = (data.targets.length + 16) * EPSILON;
  let penalty = 0, dual = entropy, apart = 0, slack = 0, price = 0, worst = 0, far = false, over = drift;
  for (let t = 0; t < W.length; t++) {
    const slope = V[t] - (1 - rho) * W[t], still = Math.max(Math.abs(slope) - rho, 0);
    if (!problem.penalised) {
      apart = Math.max(apart, Math.abs(V[t]));
      price += 2 * (Math.abs(V[t]) + ROUNDING * S[t]) * Math.abs(W[t]);
      far ||= Math.abs(V[t]) > HARD * S[t];
    } else if (rho > 0) {
      apart = Math.max(apart, W[t] !== 0 ? Math.abs(slope - rho * Math.sign(W[t])) : still);
      slack = Math.max(slack, Math.abs(rho - Math.abs(slope)) * Math.abs(W[t]));
      worst = Math.max(worst, Math.abs(slope) + reach * S[t]);
    } else apart = Math.max(apart, Math.abs(slope));
  }
  if (!problem.penalised) {
    over = Math.max(drift, apart);
    dual = far ? 0 : Math.max(entropy - price, 0);
  } else if (rho > 0) {
    penalty = rho * mass(W) + ((1 - rho) / 2) * dot(W, W);
    const inside = worst <= rho ? 1 : rho / worst;
    const at = (share) => {
      const excess = V.map((v) => Math.max(share * Math.abs(v) - rho, 0));
      const cost = rho < 1 ? dot(excess, excess) / (2 * (1 - rho)) : 0;
      return logisticValues(data, F, share).entropy - cost;
    };
    dual = rho < 1 ? Math.max(at(inside), at(1)) : at(inside);
  } else {
    penalty = dot(W, W) / 2;
    dual = entropy - dot(V, V) / 2;
  }
  const pulled = dot(S, V.map((v, t) => Math.abs(v) + Math.abs(W[t])));
  const most = Math.max(...F.map(({ size }) => largest(size)));
  return finding({
    primal: loss + penalty,
    dual,
    stationarity: apart,
    dual_feasibility: over,
    complementarity: slack,
    valueRounding: ROUNDING * (sizes + penalty + price + pulled),
    residualRounding: ROUNDING * (most + largest(S)),
    productRounding: ROUNDING * (rho + largest(S)) * largest(W),
    mass: mass(beta),
    broken: drift,
    fault,
  });
}

/** Rows and targets less their weighted means, and the constant that then is left. */
function centredRows(rows, y, s, w, b) {
  const total = sumOf(s), mean = dot(s, y) / total;
  const means = rows.combine(s).f.map((x) => x / total);
  const X = rows.X.map((x, t) => x - means[t % rows.d]);
  // Means may be large next to what is left: each product is added with what rounding took off.
  let sum = b - mean, rest = 0;
  for (let j = 0; j < w.length; j++) {
    const term = means[j] * w[j], next = sum + term;
    rest += Math.abs(sum) >= Math.abs(term) ? sum - next + term : term - next + sum;
    sum = next;
  }
  return { rows: new Design(X, rows.n, rows.d, 0), y: y.map((x) => x - mean), b: sum + rest };
}

// min ½ Σ s(y − w·x − b)² + λ₁‖w‖₁ + ½λ₂‖w‖² and yᵀν − ½ Σ ν²/s − Σ max(0, ∣xⱼᵀν∣ − λ₁)²/2λ₂ at multiples
// of ν = s(y − w·x − b), all times a factor; without penalties Xᵀν = 0 up to rounding.
function judgeSquares(problem, data, given) {
  const { weights: s, w, biases } = data, { l1, l2, factor, intercept } = problem;
  const cone = problem.positive, n = s.length;
  demand(notNegative(l1) && notNegative(l2) && positive(factor) && s.every((x) => x > 0), "a penalty is below 0");
  demand(biases[0] === 0 || intercept, "a machine without an intercept has one");
  let rows = given, y = data.targets, b = biases[0];
  if (intercept) ({ rows, y, b } = centredRows(given, y, s, w, b));
  const { f, size } = rows.dot(w);
  const r = y.map((x, i) => x - f[i] - b), sizes = size.map((x, i) => x + Math.abs(y[i]) + Math.abs(b));
  let nu = r.map((x, i) => s[i] * x);
  for (let round = 0; intercept && round < 2; round++) {
    const left = sumOf(nu) / sumOf(s);
    nu = nu.map((x, i) => x - s[i] * left);
  }
  const pull = rows.combine(nu), off = pull.size.map((x) => (n + 16) * EPSILON * x);
  let loss = 0, norms = 0, values = 0;
  for (let i = 0; i < n; i++) {
    loss += s[i] * r[i] * r[i];
    norms += (nu[i] * nu[i]) / s[i];
    values += s[i] * (Math.abs(r[i]) * sizes[i] + ROUNDING * sizes[i] * sizes[i]);
  }
  let worst = 0, price = 0, vanishes = true, apart = 0, slack = 0, negative = false;
  for (let j = 0; j < w.length; j++) {
    const c = pull.f[j], slope = c - l2 * w[j], up = cone ? slope : Math.abs(slope);
    worst = Math.max(worst, up + off[j]);
    price += 2 * (Math.abs(c) + off[j]) * Math.abs(w[j]);
    vanishes &&= Math.abs(c) <= FEASIBLE * pull.size[j] + off[j];
    const moves = cone ? w[j] > 0 : w[j] !== 0;
    apart = Math.max(apart, moves ? Math.abs(slope - l1 * Math.sign(w[j])) : up - l1);
    slack = Math.max(slack, Math.abs(l1 - Math.abs(slope)) * Math.abs(w[j]));
    negative ||= cone && w[j] < 0;
  }
  const onto = dot(y, nu), free = l1 === 0 && l2 === 0, inside = worst <= l1 ? 1 : l1 / worst;
  const at = (t) => {
    let excess = 0;
    for (const c of pull.f) excess += Math.max((cone ? t * c : Math.abs(t * c)) - l1, 0) ** 2;
    return t * onto - (t * t * norms) / 2 - (l2 > 0 ? excess / (2 * l2) : 0);
  };
  let dual = l2 > 0 ? Math.max(at(inside), at(1)) : at(inside);
  if (free) dual = vanishes ? Math.max(onto - norms / 2 - price, 0) : 0;
  const moved = rows.combine(s.map((x, i) => x * sizes[i])).size, pulled = dot(w.map(Math.abs), pull.size);
  return finding({
    primal: factor * (loss / 2 + l1 * mass(w) + (l2 / 2) * dot(w, w)),
    dual: factor * dual,
    stationarity: factor * apart,
    dual_feasibility: free ? factor * largest(pull.f) : 0,
    complementarity: factor * slack,
    valueRounding: factor * ROUNDING * (values + pulled * (free ? 2 : 1) + l2 * dot(w, w)),
    residualRounding: factor * ROUNDING * (largest(moved) + l1),
    productRounding: factor * ROUNDING * top(w.length, (j) => Math.abs(w[j]) * (moved[j] + l1)),
    mass: factor * largest(pull.size),
    broken: 0,
    fault: negative ? "a weight is below 0" : "",
  });
}

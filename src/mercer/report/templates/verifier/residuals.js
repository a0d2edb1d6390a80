// ---- norms and penalties of residuals ---------------------------------------------------------
const barrier = (a) => {
  const value = (r) => -a * a * Math.log1p(-Math.min((r / a) ** 2, 1));
  const root = (nu) => nu / (1 + Math.sqrt(1 + (nu / a) ** 2));
  return { value, conjugate: (nu) => nu * root(nu) - value(root(nu)), low: -Infinity, high: Infinity };
};
const huber = (a) => {
  const inner = (r) => Math.min(Math.abs(r), a);
  const value = (r) => inner(r) * (2 * Math.abs(r) - inner(r));
  return { value, conjugate: (nu) => (nu * nu) / 4, low: -2 * a, high: 2 * a };
};
/** φ(r), its conjugate φ*(ν) = max over r of νr − φ(r), and the slopes that φ can have. */
const PENALTIES = {
  l2: () => ({ value: (r) => r * r, conjugate: (nu) => (nu * nu) / 4, low: -Infinity, high: Infinity }),
  l1: () => ({ value: Math.abs, conjugate: () => 0, low: -1, high: 1 }),
  quantile: (tau) => ({ value: (r) => Math.max(tau * r, (tau - 1) * r), conjugate: () => 0, low: tau - 1, high: tau }),
  dead_zone: (a) => ({
    value: (r) => Math.max(Math.abs(r) - a, 0), conjugate: (nu) => a * Math.abs(nu), low: -1, high: 1,
  }),
  huber,
  log_barrier: barrier,
};

/** What it costs that a sum over n rows is not quite 0, and whether it is about 0. */
function priceOf({ f, size }, w, n, from = 0) {
  let price = 0, vanishes = true;
  for (let j = from; j < w.length; j++) {
    const off = (n + 16) * EPSILON * size[j];
    price += 2 * (Math.abs(f[j]) + off) * Math.abs(w[j]);
    vanishes &&= Math.abs(f[j]) <= FEASIBLE * size[j] + off;
  }
  return { price, vanishes };
}

// min Σ φ(y − w·x̃) and yᵀν − Σ φ*(ν) over Σ νx̃ = 0, which holds up to rounding.
function judgePenalty(problem, data, rows) {
  const { targets: y, w, multipliers: nu } = data, a = problem.parameter, n = y.length;
  const known = Object.hasOwn(PENALTIES, problem.penalty) && positive(a);
  demand(known && (problem.penalty !== "quantile" || a < 1), "a penalty is none of those that are known");
  demand(nu.length === n, "there is not one multiplier for each row");
  const phi = PENALTIES[problem.penalty](a), { f, size } = rows.dot(w);
  const inside = nu.map((x) => Math.min(Math.max(x, phi.low), phi.high));
  const pull = rows.combine(inside), { price, vanishes } = priceOf(pull, w, n);
  let sum = 0, linear = 0, slack = 0, outside = 0, steeps = 0, steepest = 0, sizes = 0, products = 0;
  for (let i = 0; i < n; i++) {
    const r = y[i] - f[i], own = phi.value(r), cost = phi.conjugate(inside[i]);
    const large = size[i] + Math.abs(y[i]);
    const steep = Math.max(Math.abs(phi.value(r + ROUNDING * large) - own), 0);
    sum += own;
    linear += y[i] * inside[i] - cost;
    slack = Math.max(slack, own + phi.conjugate(nu[i]) - nu[i] * r);
    outside = Math.max(outside, nu[i] - phi.high, phi.low - nu[i]);
    sizes += Math.abs(y[i] * nu[i]) + cost;
    steeps += steep;
    steepest = Math.max(steepest, steep);
    products = Math.max(products, Math.abs(nu[i]) * large);
  }
  return finding({
    primal: sum,
    dual: vanishes ? Math.max(linear - price, 0) : 0,
    stationarity: largest(rows.combine(nu).f),
    dual_feasibility: outside,
    complementarity: slack,
    valueRounding: ROUNDING * (sizes + dot(pull.size, w.map(Math.abs))) + steeps,
    residualRounding: ROUNDING * largest(pull.size),
    productRounding: steepest + ROUNDING * products,
    mass: mass(nu),
    fault: Number.isFinite(sum) ? "" : "a residual is not allowed",
  });
}

const dualExponent = (p) => (p === 1 ? Infinity : p === Infinity ? 1 : p / (p - 1));

// min ‖y − w·x̃‖_p with the first weights in a ball ‖w‖ ≤ t, and yᵀν − t‖Wᵀν‖* over ‖ν‖* ≤ 1, where
// Σ νx̃ = 0 for the others up to rounding; null stands for ∞, and for no ball.
function judgeNorm(problem, data, rows) {
  const { targets: y, w, multipliers: nu } = data, n = y.length, { radius } = problem;
  const [p, ball] = [problem.p, problem.ball].map((x) => x ?? Infinity);
  demand(p >= 1 && ball >= 1, "the exponent of a norm is 1 or more");
  demand(nu.length === n, "there is not one multiplier for each row");
  const count = radius === null ? 0 : problem.in_ball;
  demand(radius === null || (positive(radius) && count > 0 && count <= w.length), "a ball has a radius above 0");
  const { f, size } = rows.dot(w);
  const r = y.map((x, i) => x - f[i]), sizes = size.map((x, i) => x + Math.abs(y[i]));
  const primal = norm(r, p), length = norm(nu, dualExponent(p));
  const short = nu.map((x) => x / Math.max(length, 1));
  const pull = rows.combine(short), found = priceOf(pull, w, n, count);
  let { price } = found, outside = 0, drawn = 0;
  if (radius !== null) {
    const reach = pull.f.slice(0, count).map((x, j) => Math.abs(x) + (n + 16) * EPSILON * pull.size[j]);
    price += radius * norm(reach, dualExponent(ball));
    outside = Math.max(0, norm(w.slice(0, count), ball) - radius);
    drawn = radius * largest(pull.size.slice(0, count)) * count;
  }
  let slack = Math.abs(primal - dot(nu, r));
  if (p === Infinity && radius === null) {
    slack = top(n, (i) => Math.abs(nu[i]) * (primal - Math.sign(nu[i]) * r[i]));
  }
  const whole = norm(sizes, p), sized = nu.map(Math.abs);
  const pulls = dot(pull.size, w.map(Math.abs)) + drawn;
  return finding({
    primal,
    dual: found.vanishes ? Math.max(dot(y, short) - price, 0) : 0,
    stationarity: largest(rows.combine(nu).f.slice(count)),
    primal_feasibility: outside,
    dual_feasibility: Math.max(length - 1, 0),
    complementarity: slack,
    valueRounding: ROUNDING * (whole + dot(y.map(Math.abs), sized) + pulls),
    residualRounding: ROUNDING * (largest(pull.size) + largest(w)),
    productRounding: ROUNDING * (whole + dot(sized, sizes)),
    mass: 1,
    fault: radius !== null && outside > FEASIBLE * radius ? "weights are outside of their ball" : "",
  });
}

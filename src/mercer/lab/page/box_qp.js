// ---- the quadratic problem in a box, solved to the last digits -----------------------------------
// maximise  pᵀβ − ½ βᵀKβ   with  lo ≤ β ≤ hi  and the sum of β fixed in each group.
// Everything that a support vector machine needs is this problem: see `svm.js`.
lab.boxQP = (() => {
  // A hundredth of a thousandth of what the pictures promise (a relative gap of 1e-6).
  const WANTED = 1e-11;

  /** Return the greatest F that can go up, the least that can go down, and the mean of free ones. */
  function ends(q, beta, F, g) {
    let top = -Infinity, bottom = Infinity, sum = 0, free = 0, i = -1;
    for (let t = 0; t < q.n; t++) {
      if (q.group[t] !== g) continue;
      const up = beta[t] < q.hi[t], down = beta[t] > q.lo[t];
      if (up && F[t] > top) { top = F[t]; i = t; }
      if (down && F[t] < bottom) bottom = F[t];
      if (up && down) { sum += F[t]; free++; }
    }
    const middle = free ? sum / free
      : Number.isFinite(top + bottom) ? (top + bottom) / 2
        : Number.isFinite(top) ? top : Number.isFinite(bottom) ? bottom : 0;
    return { i, violation: top - bottom, bias: middle };
  }

  function gradient(q, beta) {
    const { K, n, p } = q, F = Float64Array.from(p);
    for (let j = 0; j < n; j++) {
      const b = beta[j];
      if (b === 0) continue;
      for (let t = 0, at = j * n; t < n; t++) F[t] -= b * K[at + t];
    }
    return F;
  }

  /** Primal and dual value and the four KKT residuals, from K and β alone. */
  function certify(q, beta) {
    const F = gradient(q, beta), biases = [];
    let stationarity = 0, dualFeasibility = 0;
    for (let g = 0; g < q.groups; g++) {
      const end = ends(q, beta, F, g);
      biases.push(end.bias);
      if (end.violation > stationarity) stationarity = end.violation;
    }
    const drift = q.sums.map((s) => -s);
    let price = 0, linear = 0, quadratic = 0, complementarity = 0;
    for (let t = 0; t < q.n; t++) {
      const r = F[t] - biases[q.group[t]], bound = r > 0 ? q.hi[t] : q.lo[t];
      drift[q.group[t]] += beta[t];
      linear += q.p[t] * beta[t];
      quadratic += beta[t] * (q.p[t] - F[t]);
      price += bound * r;
      complementarity = Math.max(complementarity, (bound - beta[t]) * r);
      dualFeasibility = Math.max(dualFeasibility, q.lo[t] - beta[t], beta[t] - q.hi[t]);
    }
    drift.forEach((d) => { dualFeasibility = Math.max(dualFeasibility, Math.abs(d)); });
    const primal = quadratic / 2 + price + lab.linalg.dot(biases, q.sums);
    const dual = linear - quadratic / 2;
    return {
      primal, dual, gap: primal - dual, relativeGap: relative(primal, dual), biases, F,
      stationarity, primalFeasibility: 0, dualFeasibility, complementarity,
    };
  }

  function relative(primal, dual) {
    const scale = Math.max(Math.abs(primal), Math.abs(dual));
    return scale > 0 ? (primal - dual) / scale : primal - dual;
  }

  /** Move the pair that gains most: i by its gradient, j by the gain of the exact step. */
  function pairStep(q, beta, F) {
    const { K, n } = q;
    let best = { violation: 0, i: -1 };
    for (let g = 0; g < q.groups; g++) {
      const end = ends(q, beta, F, g);
      if (end.violation > best.violation) best = end;
    }
    const i = best.i;
    if (i < 0) return 0;
    let j = -1, gain = 0;
    for (let t = 0; t < n; t++) {
      const d = F[i] - F[t];
      if (d <= 0 || beta[t] <= q.lo[t] || q.group[t] !== q.group[i]) continue;
      const curve = Math.max(K[i * n + i] + K[t * n + t] - 2 * K[i * n + t], 1e-14);
      if (d * d > gain * curve) { gain = (d * d) / curve; j = t; }
    }
    const curve = Math.max(K[i * n + i] + K[j * n + j] - 2 * K[i * n + j], 1e-14);
    const step = Math.min((F[i] - F[j]) / curve, q.hi[i] - beta[i], beta[j] - q.lo[j]);
    // A step that ends at a bound ends exactly there: rounding must not leave a variable free.
    beta[i] = step === q.hi[i] - beta[i] ? q.hi[i] : beta[i] + step;
    beta[j] = step === beta[j] - q.lo[j] ? q.lo[j] : beta[j] - step;
    for (let t = 0; t < n; t++) F[t] -= step * (K[i * n + t] - K[j * n + t]);
    return best.violation;
  }

  /** Move all free variables together to their optimum, as far as the box lets them.
   *
   * Pairs alone need many steps where the matrix is badly conditioned; this Newton step needs one
   * once the right variables are free. Returns whether a bound stopped it.
   */
  function jointStep(q, beta, F) {
    const { K, n } = q, free = [];
    for (let t = 0; t < n; t++) if (beta[t] > q.lo[t] && beta[t] < q.hi[t]) free.push(t);
    const m = free.length;
    if (m < 2 || m > 160) return false;
    const A = new Float64Array(m * m);
    let trace = 0;
    for (let a = 0; a < m; a++) {
      trace += K[free[a] * n + free[a]];
      for (let b = 0; b < m; b++) A[a * m + b] = K[free[a] * n + free[b]];
    }
    // K may be singular (points of the plane have a linear matrix of rank 2): a grain on the
    // diagonal keeps the direction finite, and the length of the step is exact all the same. With
    // less than 1e-10 rounding spoils one direction in two for polynomials of degree 5.
    for (let a = 0; a < m; a++) A[a * m + a] += 1e-10 * trace;
    const L = lab.linalg.cholesky(A, m);
    if (!L) return false;
    const d = lab.linalg.solve(L, m, free.map((t) => F[t]));
    const ones = [], lacks = [];
    for (let g = 0; g < q.groups; g++) {
      const mine = free.map((t) => (q.group[t] === g ? 1 : 0));
      if (!mine.includes(1)) continue;
      ones.push({ mine, v: lab.linalg.solve(L, m, mine) });
      lacks.push(lab.linalg.dot(mine, d));
    }
    // One multiplier for each group keeps its sum: at most two equations.
    const [first, second] = ones;
    if (ones.length === 1) {
      const b = lacks[0] / lab.linalg.dot(first.mine, first.v);
      for (let a = 0; a < m; a++) d[a] -= b * first.v[a];
    } else {
      const e = lab.linalg.dot(first.mine, first.v), f = lab.linalg.dot(first.mine, second.v);
      const h = lab.linalg.dot(second.mine, second.v), det = e * h - f * f;
      const b = (lacks[0] * h - lacks[1] * f) / det, c = (lacks[1] * e - lacks[0] * f) / det;
      for (let a = 0; a < m; a++) d[a] -= b * first.v[a] + c * second.v[a];
    }
    // The equations hold up to rounding, which is large where the matrix is nearly singular.
    for (const { mine } of ones) {
      const share = lab.linalg.dot(mine, d) / mine.reduce((sum, v) => sum + v, 0);
      for (let a = 0; a < m; a++) d[a] -= share * mine[a];
    }
    let slope = 0, room = Infinity, wall = -1;
    const product = new Float64Array(n);
    for (let a = 0; a < m; a++) {
      const t = free[a];
      slope += F[t] * d[a];
      const to = d[a] > 0 ? (q.hi[t] - beta[t]) / d[a] : d[a] < 0 ? (q.lo[t] - beta[t]) / d[a] : Infinity;
      if (to < room) { room = to; wall = a; }
      for (let s = 0, at = t * n; s < n; s++) product[s] += d[a] * K[at + s];
    }
    let curve = 0;
    for (let a = 0; a < m; a++) curve += d[a] * product[free[a]];
    if (!(slope > 0) || !(curve > 0)) return false;
    const step = Math.min(slope / curve, room), blocked = step === room;
    for (let a = 0; a < m; a++) beta[free[a]] += step * d[a];
    if (blocked) beta[free[wall]] = d[wall] > 0 ? q.hi[free[wall]] : q.lo[free[wall]];
    for (let a = 0; a < m; a++) {
      const t = free[a];
      beta[t] = Math.min(q.hi[t], Math.max(q.lo[t], beta[t]));
    }
    for (let s = 0; s < n; s++) F[s] -= step * product[s];
    return blocked;
  }

  /** Give what a sum is off by rounding to the variable with the most room. */
  function settle(q, beta) {
    for (let g = 0; g < q.groups; g++) {
      let drift = -q.sums[g], most = -1, room = 0;
      for (let t = 0; t < q.n; t++) {
        if (q.group[t] !== g) continue;
        drift += beta[t];
        const own = Math.min(q.hi[t] - beta[t], beta[t] - q.lo[t]);
        if (own > room) { room = own; most = t; }
      }
      if (most >= 0 && Math.abs(drift) < room) beta[most] -= drift;
    }
  }

  function feasible(q, beta) {
    if (!beta || beta.length !== q.n) return false;
    const drift = q.sums.map((s) => -s);
    for (let t = 0; t < q.n; t++) {
      if (!(beta[t] >= q.lo[t] && beta[t] <= q.hi[t])) return false;
      drift[q.group[t]] += beta[t];
    }
    return drift.every((d) => Math.abs(d) < 1e-12);
  }

  /** Solve q = {K, n, p, lo, hi, start, group, groups, nothing}; `warm` is an earlier answer.
   *
   * A value of the objective below `nothing` is taken as zero.
   */
  function solve(q, warm) {
    q.sums = new Array(q.groups).fill(0);
    q.start.forEach((b, t) => { q.sums[q.group[t]] += b; });
    const beta = Float64Array.from(feasible(q, warm) ? warm : q.start);
    let F = gradient(q, beta), best = null, steps = 0, since = 0;
    for (let round = 0; round < 150; round++) {
      // Pairs find out which variables are free; then a few of them correct that choice.
      for (let k = 0; k < (round ? 10 + q.n / 10 : 2 * q.n); k++) {
        steps++;
        if (!(pairStep(q, beta, F) > 1e-14)) break;
      }
      for (let k = 0; k < 40 && jointStep(q, beta, F); k++) steps++;
      settle(q, beta);
      const found = certify(q, beta);
      F = found.F; // computed anew, so that rounding does not add up
      since++;
      if (!best || Math.abs(found.gap) < Math.abs(best.gap)) {
        best = { ...found, beta: Float64Array.from(beta) };
        since = 0;
      }
      if (Math.abs(best.relativeGap) <= WANTED || Math.abs(found.dual) < q.nothing) break;
      if (since > 4 && best.relativeGap < 1e-7) break; // rounding lets it come no nearer
    }
    return { ...best, steps };
  }

  return { solve, certify, relative };
})();

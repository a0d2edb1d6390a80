// ---- landmarks: the first rows of a sample, over which a function is a sum --------------------

/** Return L with LLᵀ = K, K given by its lower triangle in full rows. */
function factor(K, m) {
  const L = new Float64Array(m * m);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = K[i * m + j];
      for (let t = 0; t < j; t++) sum -= L[i * m + t] * L[j * m + t];
      if (j < i) L[i * m + j] = sum / L[j * m + j];
      else {
        demand(sum > 0, "the landmarks are not independent of each other");
        L[i * m + i] = Math.sqrt(sum);
      }
    }
  }
  return L;
}

/** Kernel values of landmarks with each other and with the rows below them, computed or given. */
class Landmarks {
  constructor(gram, matrix, samples) {
    const m = gram.landmarks, n = gram.rows - m;
    demand(Number.isInteger(m) && m > 0 && n > 0, "there are no landmarks, or no rows beside them");
    const right = !matrix || (matrix.shape[0] === m + n && matrix.shape[1] === m && matrix.shape.length === 2);
    demand(right, "a matrix has not a row for each row and a column for each landmark");
    this.m = m;
    this.n = n;
    this.row = matrix
      ? (i, out) => out.set(matrix.values.subarray(i * m, (i + 1) * m))
      : compile(gram.kernel, samples, gram.rows, m);
    this.k = new Float64Array(m);
    this.K = new Float64Array(m * m);
    for (let i = 0; i < m; i++) {
      this.row(i, this.k);
      for (let j = 0; j <= i; j++) this.K[i * m + j] = this.K[j * m + i] = this.k[j];
    }
    this.L = factor(this.K, m);
  }

  /** Replace s by L⁻¹s. */
  solve(s) {
    const { L, m } = this;
    for (let i = 0; i < m; i++) {
      let left = s[i];
      for (let t = 0, at = i * m; t < i; t++, at++) left -= L[at] * s[t];
      s[i] = left / L[i * m + i];
    }
    return s;
  }

  /** Σ a k(z, x) at all rows, for each a. */
  async atRows(columns) {
    const { m, n, k } = this, found = columns.map(() => pairOf(n));
    for (let i = 0; i < n; i++) {
      this.row(m + i, k);
      columns.forEach((a, c) => {
        for (let j = 0; j < m; j++) {
          const term = k[j] * a[j];
          found[c].f[i] += term;
          found[c].size[i] += Math.abs(term);
        }
      });
      await breathe();
    }
    return found;
  }

  /** Σ v k(x, z) at all landmarks, for each v. */
  async atLandmarks(columns) {
    const { m, n, k } = this, found = columns.map(() => pairOf(m));
    for (let i = 0; i < n; i++) {
      this.row(m + i, k);
      columns.forEach((v, c) => {
        for (let j = 0; j < m; j++) {
          const term = k[j] * v[i];
          found[c].f[j] += term;
          found[c].size[j] += Math.abs(term);
        }
      });
      await breathe();
    }
    return found;
  }

  /** K̃V with K̃ = K_nM K_MM⁻¹ K_Mn = ZZᵀ, for each V. */
  async projected(columns) {
    const { m, n } = this, Z = new Float64Array(n * m), lengths = new Float64Array(n);
    const inner = columns.map(() => new Float64Array(m));
    for (let i = 0; i < n; i++) {
      const z = Z.subarray(i * m, (i + 1) * m);
      this.row(m + i, z);
      this.solve(z);
      lengths[i] = Math.sqrt(dot(z, z));
      columns.forEach((V, c) => {
        if (V[i] !== 0) for (let j = 0; j < m; j++) inner[c][j] += V[i] * z[j];
      });
      await breathe();
    }
    return columns.map((V, c) => {
      const { f, size } = pairOf(n), all = dot(lengths, V.map(Math.abs));
      for (let i = 0; i < n; i++) {
        f[i] = dot(Z.subarray(i * m, (i + 1) * m), inner[c]);
        size[i] = lengths[i] * all;
      }
      return { f, size };
    });
  }

  /** f = Σ a k(z, ·) beside g/λ, where g has the values s at the landmarks: sᵀK_MM⁻¹s is near λ²aᵀK_MM a,
   * and only the small difference is seen through the factor. */
  distance(columns, s, penalty) {
    const { m, K, L } = this;
    let square = 0, apart = 0, far = 0, worst = 0, large = 0, values = 0;
    columns.forEach((a, c) => {
      const left = new Float64Array(m);
      for (let i = 0; i < m; i++) {
        let pull = 0, size = 0;
        for (let j = 0; j < m; j++) {
          const term = K[i * m + j] * a[j];
          pull += term;
          size += Math.abs(term);
        }
        size = s[c].size[i] + penalty * size;
        square += a[i] * pull;
        left[i] = s[c].f[i] - penalty * pull;
        apart += a[i] * left[i];
        values += Math.abs(a[i]) * size;
        large += size * size;
      }
      this.solve(left);
      far += dot(left, left);
      worst = Math.max(worst, largest(left));
    });
    let least = Infinity;
    for (let i = 0; i < m; i++) least = Math.min(least, L[i * m + i]);
    const unsure = (ROUNDING * Math.sqrt(large)) / least;
    const other = penalty * square + 2 * apart + far / penalty;
    const rounding = ROUNDING * values + (unsure * (2 * Math.sqrt(far) + unsure)) / penalty;
    return { square, other, stationarity: worst, unsure, rounding };
  }
}

// min ½ Σ w(y − f − b)² + ½λ‖f‖² over f = Σ aⱼ k(zⱼ, ·), and Σ wey − ½ Σ we² − ‖g‖²/2λ with the errors e.
async function judgeLandmarkRidge(problem, data, low) {
  const { targets: y, weights: w, coefficients: a, biases } = data;
  const penalty = problem.lambda, b = biases[0], n = low.n;
  const fit = positive(penalty) && w.every((x) => x > 0) && a.length === low.m && y.length === n;
  demand(fit && biases.length === 1, "a ridge regression needs λ > 0 and weights above 0, one for each row");
  demand(b === 0 || problem.intercept, "a ridge regression without an intercept has one");
  const [{ f, size }] = await low.atRows([a]);
  const errors = y.map((x, i) => x - b - f[i]);
  const mean = problem.intercept ? dot(w, errors) / sumOf(w) : 0;
  const v = errors.map((e, i) => w[i] * (e - mean));
  let misfit = 0, best = 0, values = 0;
  for (let i = 0; i < n; i++) {
    const large = size[i] + Math.abs(y[i]) + Math.abs(b);
    misfit += w[i] * errors[i] * errors[i];
    best += v[i] * (errors[i] - mean);
    values += w[i] * (Math.abs(errors[i]) * large + ROUNDING * large * large);
  }
  const found = low.distance([a], await low.atLandmarks([v]), penalty);
  return finding({
    primal: misfit / 2 + (penalty * found.square) / 2,
    dual: dot(v, y) - (best + found.other) / 2,
    stationarity: found.stationarity,
    valueRounding: ROUNDING * values + found.rounding,
    residualRounding: found.unsure,
    mass: mass(v),
  });
}

// min ½ Σ ‖f_c‖² + Σ C ℓ(y, f + b) over f_c = Σ aⱼ_c k(zⱼ, ·), and Σ Cω(β/C) − ½ Σ ‖g_c‖² with β = −C∂ℓ; ω is
// the entropy for logistic losses, tβ − β²/4 for the squared hinge of each class against the rest.
async function judgeLandmarkClasses(problem, data, low) {
  const { targets: labels, C, coefficients, biases } = data, m = biases.length, n = low.n;
  const logistic = problem.loss === "logistic", classes = m === 1 ? 2 : m;
  demand(logistic || problem.loss === "squared hinge", "a loss is none of those that are known");
  const fit = coefficients.length === low.m * m && labels.length === n && C.every((x) => x > 0);
  demand(fit, "there is not one coefficient for each landmark");
  demand(labelsAreGood(labels, classes), "rows are of classes that are not known");
  demand(problem.intercept || biases.every((x) => x === 0), "a machine without constants has some");
  const a = columnsOf(coefficients, m), F = await low.atRows(a);
  const betas = a.map(() => new Float64Array(n));
  let loss = 0, gain = 0, values = 0;
  for (let i = 0; i < n; i++) {
    const own = labels[i];
    let large = 0, steep = 1, gained = 0;
    for (let c = 0; c < m; c++) large = Math.max(large, F[c].size[i] + Math.abs(biases[c]));
    if (logistic) {
      const scores = Array.from({ length: classes }, (_, c) => (m > 1 ? F[c].f[i] + biases[c] : c ? F[0].f[i] + biases[0] : 0));
      const most = Math.max(...scores), powers = scores.map((u) => Math.exp(u - most)), sum = sumOf(powers);
      loss += C[i] * (Math.log(sum) + most - scores[own]);
      powers.forEach((power, c) => {
        const p = power / sum;
        if (p > 0) gained -= p * Math.log(p);
        if (m > 1 || c === 1) betas[m > 1 ? c : 0][i] = C[i] * (Number(c === own) - p);
      });
    } else {
      steep = 0;
      for (let c = 0; c < m; c++) {
        const t = (m === 1 ? own === 1 : own === c) ? 1 : -1;
        const slack = Math.max(0, 1 - t * (F[c].f[i] + biases[c])), slope = 2 * t * slack;
        loss += C[i] * slack * slack;
        gained += t * slope - (slope * slope) / 4;
        steep += 2 * slack;
        betas[c][i] = C[i] * slope;
      }
    }
    large += 1;
    gain += C[i] * gained;
    values += C[i] * (steep * large + ROUNDING * large * large + Math.abs(gained));
  }
  const found = low.distance(a, await low.atLandmarks(betas), 1);
  const drift = betas.map((beta) => (problem.intercept ? Math.abs(sumOf(beta)) : 0));
  const lost = drift.reduce((sum, x, c) => sum + x * (2 * Math.abs(biases[c]) + 1), 0);
  const all = betas.reduce((sum, beta) => sum + mass(beta), 0);
  return finding({
    primal: loss + found.square / 2,
    dual: gain - found.other / 2 - lost,
    stationarity: found.stationarity,
    dual_feasibility: Math.max(...drift),
    valueRounding: ROUNDING * (2 * values + all) + found.rounding,
    residualRounding: found.unsure,
    mass: all,
    broken: 0,
  });
}

"use strict";
// The verifier of the proof that this page carries. It shares no code with any other part of mercer
// and takes nothing from it but rows, kernel settings and answers: the Gram matrix, the primal and
// the dual value, the gap and the residuals are computed here, and each printed number is compared.
(() => {
  const AGREEMENT = 1e-9; // of printed and computed numbers, as a share of the values
  const FEASIBLE = 1e-6; // multipliers out of their constraints, as a share of their sum
  const ROUNDING = 64 * 2 ** -52; // of a sum, as a share of the sizes that it adds up
  const CLAIMS = [
    "primal", "dual", "gap", "stationarity", "primal_feasibility", "dual_feasibility",
    "complementarity",
  ];
  const PRINTED_DIGITS = 6; // zeros beyond them in a whole number come from rounding
  const SLICE = 40; // milliseconds of work after which the page may breathe

  class Unreadable extends Error {}

  function demand(condition, why) {
    if (!condition) throw new Unreadable(why);
  }

  let breath = 0;
  async function breathe() {
    if (performance.now() - breath < SLICE) return;
    await new Promise((resolve) => setTimeout(resolve));
    breath = performance.now();
  }

  // ---- reading ----------------------------------------------------------------------------------
  const littleEndian = new Uint8Array(new Float64Array([2]).buffer)[7] === 64;

  function swapped(buffer, count) {
    const view = new DataView(buffer);
    return Float64Array.from({ length: count }, (_, i) => view.getFloat64(8 * i, true));
  }

  async function readArray(stored) {
    demand(stored && Array.isArray(stored.shape), "an array is not as it should be");
    const count = stored.shape.reduce((product, size) => product * size, 1);
    demand(Number.isInteger(count) && count >= 0 && count < 2 ** 28, "an array is too large");
    let buffer;
    try {
      const packed = Uint8Array.from(atob(stored.data), (c) => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
      buffer = await new Response(stream).arrayBuffer();
    } catch {
      throw new Unreadable("an array cannot be inflated");
    }
    demand(buffer.byteLength === 8 * count, "an array has not as many numbers as its shape");
    const values = littleEndian ? new Float64Array(buffer) : swapped(buffer, count);
    let finite = true;
    for (let i = 0; i < count; i++) finite &&= Number.isFinite(values[i]);
    demand(finite, "an array holds what is no finite number");
    return { shape: stored.shape, values, bytes: new Uint8Array(buffer) };
  }

  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻";

  /** Return a printed number, and half a unit of its last digit. */
  function readNumber(text) {
    let plain = text.replaceAll(",", "").replaceAll("−", "-").replaceAll("\u00a0", " ").trim();
    if (plain.endsWith("%")) {
      const [value, half] = readNumber(plain.slice(0, -1));
      return [value / 100, half / 100];
    }
    const [head, tail] = plain.split(" × 10");
    if (tail !== undefined) {
      const digits = Array.from(tail, (c) => "0123456789-"[SUPERSCRIPTS.indexOf(c)] ?? "x");
      plain = head + "e" + digits.join("");
    }
    const found = /^(-?\d+(?:\.(\d*))?)(?:e([+-]?\d+))?$/.exec(plain);
    demand(found, `“${text.slice(0, 40)}” is no number`);
    const exponent = Number(found[3] ?? 0);
    demand(Math.abs(exponent) <= 400, `“${text.slice(0, 40)}” is no number of float64`);
    let places = (found[2] ?? "").length;
    if (!plain.includes(".") && exponent === 0) {
      const whole = found[1].replace("-", "");
      const zeros = whole.length - whole.replace(/0+$/, "").length;
      places = -Math.min(zeros, Math.max(0, whole.length - PRINTED_DIGITS));
    }
    return [Number(plain), 0.5 * 10 ** (exponent - places)];
  }

  // ---- SHA-256 (FIPS 180-4) ---------------------------------------------------------------------
  const PRIMES = [];
  for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
  const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32);
  const ROUNDS = Uint32Array.from(PRIMES, (p) => fraction(Math.cbrt(p)));

  const turn = (x, by) => (x >>> by) | (x << (32 - by));

  class Digest {
    constructor() {
      this.state = Uint32Array.from(PRIMES.slice(0, 8), (p) => fraction(Math.sqrt(p)));
      this.rest = new Uint8Array(64);
      this.held = 0;
      this.length = 0;
      this.words = new Uint32Array(64);
    }

    async add(bytes) {
      this.length += bytes.length;
      let at = 0;
      while (at < bytes.length) {
        if (this.held === 0 && bytes.length - at >= 64) {
          this.block(bytes, at);
          at += 64;
        } else {
          const some = Math.min(64 - this.held, bytes.length - at);
          this.rest.set(bytes.subarray(at, at + some), this.held);
          this.held += some;
          at += some;
          if (this.held === 64) {
            this.block(this.rest, 0);
            this.held = 0;
          }
        }
        if (at % 65536 === 0) await breathe();
      }
    }

    async end() {
      const length = this.length;
      const tail = new Uint8Array(((this.held < 56 ? 64 : 128) - this.held));
      tail[0] = 0x80;
      const view = new DataView(tail.buffer);
      view.setUint32(tail.length - 8, Math.floor(length / 2 ** 29));
      view.setUint32(tail.length - 4, (length * 8) % 2 ** 32);
      await this.add(tail);
      return Array.from(this.state, (word) => word.toString(16).padStart(8, "0")).join("");
    }

    block(bytes, at) {
      const w = this.words;
      for (let i = 0; i < 16; i++) {
        const j = at + 4 * i;
        w[i] = (bytes[j] << 24) | (bytes[j + 1] << 16) | (bytes[j + 2] << 8) | bytes[j + 3];
      }
      for (let i = 16; i < 64; i++) {
        const x = w[i - 15];
        const y = w[i - 2];
        const s = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
        const t = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
        w[i] = (w[i - 16] + s + w[i - 7] + t) | 0;
      }
      const H = this.state;
      let a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
      for (let i = 0; i < 64; i++) {
        const s = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
        const p = (h + s + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
        const t = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
        const q = (t + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g; g = f; f = e; e = (d + p) | 0; d = c; c = b; b = a; a = (p + q) | 0;
      }
      H[0] += a; H[1] += b; H[2] += c; H[3] += d; H[4] += e; H[5] += f; H[6] += g; H[7] += h;
    }
  }

  // ---- kernels: each becomes a function that fills out[j] = k(i, j) for j ≤ i and j < limit ------
  const positive = (x) => typeof x === "number" && x > 0 && x < Infinity;
  const notNegative = (x) => x === 0 || positive(x);

  const PROFILES = {
    rbf: () => (s) => Math.exp(-s / 2),
    laplacian: () => (s) => Math.exp(-s),
    matern: ({ nu }) => (s) => {
      const t = Math.sqrt(2 * nu * s);
      const polynomial = nu === 0.5 ? 1 : nu === 1.5 ? 1 + t : 1 + t + (t * t) / 3;
      return polynomial * Math.exp(-t);
    },
    rational_quadratic: ({ alpha }) => (s) => Math.exp(-alpha * Math.log1p(s / (2 * alpha))),
  };

  function compile(tree, samples, n, limit = n) {
    const { name } = tree;
    const end = (i) => Math.min(i + 1, limit);
    if (name === "sum" || name === "product") {
      const parts = tree.parts.map((part) => compile(part, samples, n, limit));
      demand(parts.length > 0, "a kernel has no parts");
      const other = new Float64Array(limit);
      return (i, out) => {
        parts[0](i, out);
        const stop = end(i);
        for (const part of parts.slice(1)) {
          part(i, other);
          if (name === "sum") for (let j = 0; j < stop; j++) out[j] += other[j];
          else for (let j = 0; j < stop; j++) out[j] *= other[j];
        }
      };
    }
    if (name === "scaled") {
      demand(notNegative(tree.factor), "a kernel has a negative factor");
      const part = compile(tree.part, samples, n, limit);
      return (i, out) => {
        part(i, out);
        for (let j = 0; j < end(i); j++) out[j] *= tree.factor;
      };
    }
    if (name === "constant") {
      demand(notNegative(tree.value), "a kernel is a negative constant");
      return (i, out) => out.fill(tree.value, 0, end(i));
    }
    if (name === "white") {
      demand(notNegative(tree.noise), "a kernel has negative noise");
      return (i, out) => {
        out.fill(0, 0, end(i));
        if (i < limit) out[i] = tree.noise;
      };
    }
    const sample = samples[tree.sample];
    demand(sample && sample.shape.length === 2 && sample.shape[1] > 0, "a kernel has no rows");
    demand(sample.shape[0] === n, "rows and Gram matrix are not equally many");
    const d = sample.shape[1];
    if (name in PROFILES) return radial(tree, sample.values, d, end);
    if (name === "linear" || name === "polynomial") return ofDot(tree, sample.values, d, end);
    demand(name === "overlap" || name === "delta", "a kernel is none of those that are known");
    const X = sample.values;
    return (i, out) => {
      for (let j = 0; j < end(i); j++) {
        let same = 0;
        for (let c = 0; c < d; c++) if (X[i * d + c] === X[j * d + c]) same++;
        out[j] = name === "overlap" ? same / d : Number(same === d);
      }
    };
  }

  function radial(tree, X, d, end) {
    const { name, rate, scales } = tree;
    let good = positive(rate);
    if (name === "matern") good &&= [0.5, 1.5, 2.5].includes(tree.nu);
    if (name === "rational_quadratic") good &&= positive(tree.alpha);
    if (scales) good &&= scales.length === d && scales.every(positive);
    demand(good, "a kernel has parameters that it cannot have");
    const profile = PROFILES[name](tree);
    const Z = scales ? X.map((x, t) => x / scales[t % d]) : X;
    return (i, out) => {
      const stop = end(i);
      for (let j = 0; j < stop; j++) {
        let s = 0;
        if (name === "laplacian") {
          for (let c = 0, a = i * d, b = j * d; c < d; c++, a++, b++) s += Math.abs(Z[a] - Z[b]);
        } else {
          for (let c = 0, a = i * d, b = j * d; c < d; c++, a++, b++) {
            const apart = Z[a] - Z[b];
            s += apart * apart;
          }
        }
        out[j] = profile(rate * s);
      }
    };
  }

  function ofDot(tree, X, d, end) {
    const { name, degree, gamma, coef0 } = tree;
    const linear = name === "linear";
    const good = linear || (Number.isInteger(degree) && degree >= 0 && notNegative(gamma) && notNegative(coef0));
    demand(good, "a kernel has parameters with which it is not positive definite");
    return (i, out) => {
      const stop = end(i);
      for (let j = 0; j < stop; j++) {
        let t = 0;
        for (let c = 0, a = i * d, b = j * d; c < d; c++, a++, b++) t += X[a] * X[b];
        out[j] = linear ? t : (gamma * t + coef0) ** degree;
      }
    };
  }

  // Cholesky's method on square tiles, which stay in the cache while they are used.
  const TILE = 32;

  /** Whether a Cholesky factor proves that a matrix (its lower triangle, by rows) is definite. */
  async function isDefinite(packed, n) {
    const value = (i, j) => packed[(i * (i + 1)) / 2 + j];
    let trace = 0;
    for (let i = 0; i < n; i++) trace += Math.abs(value(i, i));
    const shift = 8 * (n + 2) * 2 ** -52 * trace;
    const count = Math.ceil(n / TILE);
    const tiles = [];
    const tile = (I, J) => tiles[(I * (I + 1)) / 2 + J];
    for (let I = 0; I < count; I++) {
      for (let J = 0; J <= I; J++) {
        const T = new Float64Array(TILE * TILE); // beyond n it is the identity
        for (let r = 0; r < TILE; r++) {
          for (let c = 0; c < TILE; c++) {
            const i = I * TILE + r, j = J * TILE + c;
            const own = i === j ? (i < n ? shift : 1) : 0;
            const known = i < n && j < n ? value(Math.max(i, j), Math.min(i, j)) : 0;
            T[r * TILE + c] = known + own;
          }
        }
        tiles.push(T);
      }
    }
    for (let J = 0; J < count; J++) {
      for (let T = 0; T < J; T++) {
        for (let I = J; I < count; I++) subtractProduct(tile(I, J), tile(I, T), tile(J, T));
        await breathe();
      }
      if (!factorTile(tile(J, J))) return false;
      for (let I = J + 1; I < count; I++) solveTile(tile(I, J), tile(J, J));
    }
    return true;
  }

  /** C −= A Bᵀ, two rows and four columns at a time. */
  function subtractProduct(C, A, B) {
    for (let i = 0; i < TILE; i += 2) {
      const p = i * TILE, q = p + TILE;
      for (let j = 0; j < TILE; j += 4) {
        const u = j * TILE, v = u + TILE, w = v + TILE, z = w + TILE;
        let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
        for (let t = 0; t < TILE; t++) {
          const x = A[p + t], y = A[q + t];
          const k = B[u + t], l = B[v + t], m = B[w + t], o = B[z + t];
          a += x * k; b += x * l; c += x * m; d += x * o;
          e += y * k; f += y * l; g += y * m; h += y * o;
        }
        C[p + j] -= a; C[p + j + 1] -= b; C[p + j + 2] -= c; C[p + j + 3] -= d;
        C[q + j] -= e; C[q + j + 1] -= f; C[q + j + 2] -= g; C[q + j + 3] -= h;
      }
    }
  }

  function factorTile(D) {
    for (let i = 0; i < TILE; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = D[i * TILE + j];
        for (let t = 0; t < j; t++) sum -= D[i * TILE + t] * D[j * TILE + t];
        if (j < i) D[i * TILE + j] = sum / D[j * TILE + j];
        else if (!(sum > 0)) return false;
        else D[i * TILE + i] = Math.sqrt(sum);
      }
    }
    return true;
  }

  function solveTile(A, D) {
    for (let i = 0; i < TILE; i++) {
      for (let j = 0; j < TILE; j++) {
        let sum = A[i * TILE + j];
        for (let t = 0; t < j; t++) sum -= A[i * TILE + t] * D[j * TILE + t];
        A[i * TILE + j] = sum / D[j * TILE + j];
      }
    }
  }

  // ---- products ---------------------------------------------------------------------------------
  /** Return KV and ∣K∣∣V∣ for vectors of a length of n. */
  async function multiply(row, n, vectors) {
    const F = vectors.map(() => new Float64Array(n));
    const sizes = vectors.map(() => new Float64Array(n));
    const K = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      row(i, K);
      vectors.forEach((V, v) => {
        const f = F[v], size = sizes[v];
        const own = V[i], large = Math.abs(own);
        let sum = 0, total = 0;
        for (let j = 0; j < i; j++) {
          const k = K[j], bound = Math.abs(k);
          sum += k * V[j];
          total += bound * Math.abs(V[j]);
          f[j] += k * own;
          size[j] += bound * large;
        }
        f[i] += sum + K[i] * own;
        size[i] += total + Math.abs(K[i]) * large;
      });
      await breathe();
    }
    return vectors.map((_, v) => ({ f: F[v], size: sizes[v] }));
  }

  const dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  };
  const mass = (a) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += Math.abs(a[i]);
    return sum;
  };
  const top = (count, value) => {
    let most = 0;
    for (let i = 0; i < count; i++) most = Math.max(most, value(i));
    return most;
  };

  // ---- problems ---------------------------------------------------------------------------------
  const signsAreGood = (y) => y.every((sign) => Math.abs(sign) === 1);

  /** Return p, lo, hi, the groups and their sums of a quadratic problem. */
  function boxOf(problem, y, C) {
    const { kind } = problem;
    const n = y.length;
    const half = (problem.nu * C.reduce((a, b) => a + b, 0)) / 2;
    if (kind === "C-SVC" || kind === "ν-SVC") {
      demand(signsAreGood(y), "the signs of classes are +1 and −1");
      const plain = kind === "C-SVC";
      return {
        p: plain ? y : new Float64Array(n),
        lo: y.map((s, i) => Math.min(0, s * C[i])),
        hi: y.map((s, i) => Math.max(0, s * C[i])),
        group: (t) => (plain || y[t] > 0 ? 0 : 1),
        sums: plain ? [0] : [half, -half],
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

  // max pᵀβ − ½βᵀKβ over lo ≤ β ≤ hi with fixed sums; primal ½βᵀKβ + Σ (hi r⁺ − lo r⁻) + Σ b s.
  function judgeBox(problem, data, [{ f, size }]) {
    const { p, lo, hi, group, sums } = boxOf(problem, data.targets, data.C);
    const beta = data.multipliers, biases = data.biases, n = data.targets.length;
    const sound = beta.length === p.length && biases.length === sums.length;
    demand(sound, "a problem has not as many multipliers or biases as it should");
    const highest = sums.map(() => -Infinity), lowest = sums.map(() => Infinity);
    const drift = sums.map((sum) => -sum);
    let square = 0, linear = 0, price = 0, outside = 0, products = 0;
    let values = 0, largest = 0, steepest = 0;
    for (let t = 0; t < p.length; t++) {
      const g = group(t), b = beta[t], at = t % n;
      const F = p[t] - f[at], r = F - biases[g];
      const bound = r > 0 ? hi[t] : lo[t];
      if (b < hi[t]) highest[g] = Math.max(highest[g], F);
      if (b > lo[t]) lowest[g] = Math.min(lowest[g], F);
      drift[g] += b;
      square += b * f[at];
      linear += p[t] * b;
      price += bound * r;
      outside = Math.max(outside, lo[t] - b, b - hi[t]);
      products = Math.max(products, (bound - b) * r);
      const large = size[at] + Math.abs(p[t]) + Math.abs(biases[g]);
      const steep = Math.max(-lo[t], hi[t]);
      values += (Math.abs(b) + steep) * large;
      largest = Math.max(largest, large);
      steepest = Math.max(steepest, steep * large);
    }
    return {
      primal: square / 2 + price + dot(biases, sums),
      dual: linear - square / 2,
      stationarity: Math.max(0, ...sums.map((_, g) => highest[g] - lowest[g])),
      primal_feasibility: 0,
      dual_feasibility: Math.max(outside, ...drift.map(Math.abs)),
      complementarity: products,
      valueRounding: ROUNDING * values,
      residualRounding: ROUNDING * largest,
      productRounding: ROUNDING * steepest,
      mass: mass(beta),
    };
  }

  // min ½ Σ w(y − f − b)² + ½λ‖f‖² and λ(cᵀ(y − b) − ½cᵀKc − ½λ Σ c²/w).
  function judgeRidge(problem, data, [{ f, size }]) {
    const { targets: y, weights: w, multipliers: c, biases } = data;
    const penalty = problem.lambda, b = biases[0];
    const good = positive(penalty) && w.every((x) => x > 0) && c.length === y.length;
    demand(good && biases.length === 1, "a ridge regression needs λ > 0 and weights above 0");
    demand(b === 0 || problem.intercept, "a ridge regression without an intercept has one");
    let misfit = 0, linear = 0, shrunk = 0, residual = 0, sum = 0, values = 0, largest = 0;
    for (let i = 0; i < y.length; i++) {
      const error = y[i] - b - f[i], pull = (penalty * c[i]) / w[i];
      const large = size[i] + Math.abs(y[i]) + Math.abs(b) + Math.abs(pull);
      misfit += w[i] * error * error;
      linear += c[i] * (y[i] - b);
      shrunk += c[i] * pull;
      sum += c[i];
      residual = Math.max(residual, Math.abs(error - pull));
      values += w[i] * (Math.abs(error) * large + ROUNDING * large * large);
      values += penalty * Math.abs(c[i]) * large;
      largest = Math.max(largest, large);
    }
    const square = dot(c, f);
    return {
      primal: misfit / 2 + (penalty * square) / 2,
      dual: penalty * (linear - square / 2 - shrunk / 2),
      stationarity: residual,
      primal_feasibility: 0,
      dual_feasibility: problem.intercept ? Math.abs(sum) : 0,
      complementarity: 0,
      valueRounding: ROUNDING * values,
      residualRounding: ROUNDING * largest,
      productRounding: 0,
      mass: mass(c),
    };
  }

  // min ½‖w‖² + Σ φ(p − w·x̃) and pᵀβ − ε‖β‖₁ − ½ Σ Dβ² − ½‖Σ βx̃‖²; D = 1/2C for squared losses.
  function judgeLinear(problem, data, [{ f, size }, total]) {
    const { targets: p, C, multipliers: beta, w } = data;
    const { squared, epsilon, classes } = problem;
    demand(beta.length === p.length, "a problem has not as many multipliers as rows");
    demand(!classes || signsAreGood(p), "the signs of classes are +1 and −1");
    let loss = 0, cost = 0, worst = 0, outside = 0, products = 0;
    let values = 0, largest = 0, steepest = 0;
    for (let i = 0; i < p.length; i++) {
      const most = squared ? Infinity : C[i], D = squared ? 0.5 / C[i] : 0;
      const lo = classes && p[i] > 0 ? 0 : -most, hi = classes && p[i] < 0 ? 0 : most;
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
      largest = Math.max(largest, large);
      steepest = Math.max(steepest, steep * large);
    }
    values += dot(total.size, total.f.map(Math.abs));
    return {
      primal: dot(w, w) / 2 + loss,
      dual: dot(p, beta) - cost - dot(total.f, total.f) / 2,
      stationarity: worst,
      primal_feasibility: 0,
      dual_feasibility: outside,
      complementarity: products,
      valueRounding: ROUNDING * values,
      residualRounding: ROUNDING * largest,
      productRounding: ROUNDING * steepest,
      mass: mass(beta),
    };
  }

  // min ½ Σ ‖f_c‖² + Σ C(log Σ exp(f_c + b_c) − f_y − b_y) and Σ C H(p) − ½ Σ ‖g_c‖², where
  // β = C([c = y] − p) and g_c = Σ β_c φ(x); two classes share one function.
  function judgeLogistic(problem, data, found) {
    const { targets: labels, C, multipliers: beta, biases } = data;
    const n = labels.length, m = biases.length, classes = m === 1 ? 2 : m;
    const good = beta.length === n * m && C.every((x) => x > 0);
    const known = labels.every((l) => Number.isInteger(l) && l >= 0 && l < classes);
    demand(good && known, "a logistic regression has classes that it does not know");
    const F = found.slice(0, m), G = found.slice(m);
    let loss = 0, entropy = 0, wrong = 0, values = 0;
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
        const share = Number(c === own) - weight / C[i];
        all += share;
        wrong = Math.max(wrong, -share, share - 1);
        const p = Math.min(Math.max(share, 0), 1);
        if (p > 0) entropy -= C[i] * p * Math.log(p);
      }
      wrong = Math.max(wrong, Math.abs(all - 1));
      loss += C[i] * (Math.log(sum) + most - scores[own]);
      values += C[i] * (2 * large + 1);
    }
    let f2 = 0, g2 = 0, apart = 0, drift = 0, sizes = 0, most = 0;
    const column = (a, c) => a.filter((_, t) => t % m === c);
    for (let c = 0; c < m; c++) {
      const mine = column(beta, c);
      const own = column(data.w ?? data.coefficients, c);
      const seen = data.w ? own : F[c].f;
      f2 += dot(own, seen);
      g2 += data.w ? dot(G[c].f, G[c].f) : dot(mine, G[c].f);
      for (let t = 0; t < seen.length; t++) apart = Math.max(apart, Math.abs(G[c].f[t] - seen[t]));
      let sum = 0;
      for (const b of mine) sum += b;
      drift = Math.max(drift, Math.abs(sum));
      sizes += dot(G[c].size, G[c].size);
      most = Math.max(most, top(G[c].size.length, (t) => G[c].size[t]));
    }
    const largest = Math.max(...F.map(({ size }) => top(n, (i) => size[i])));
    values += f2 + Math.sqrt(sizes) + mass(beta) * most;
    return {
      primal: loss + f2 / 2,
      dual: entropy - g2 / 2,
      stationarity: apart,
      primal_feasibility: 0,
      dual_feasibility: problem.intercept ? drift : 0,
      complementarity: 0,
      valueRounding: ROUNDING * values,
      residualRounding: ROUNDING * (largest + most),
      productRounding: 0,
      mass: mass(beta),
      fault: wrong > FEASIBLE ? "shares of classes are below 0 or above 1" : "",
    };
  }

  // ---- landmarks: the first rows of a sample, over which a function is a sum ----------------------
  const ON_LANDMARKS = "ridge on landmarks";

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

  // min ½ Σ w(y − f − b)² + ½λ‖f‖² over f = Σ aⱼ k(zⱼ, ·), and Σ wey − ½ Σ we² − sᵀK_MM⁻¹s/2λ with
  // s = K_Mn(we), which is near λK_MM a: only the small difference δ is seen through the factor.
  async function judgeLandmarks(problem, data, gram, samples) {
    const { targets: y, weights: w, coefficients: a, biases } = data;
    const m = gram.landmarks, n = gram.rows - m, penalty = problem.lambda, b = biases[0];
    demand(Number.isInteger(m) && m > 0 && n > 0, "there are no landmarks, or no rows beside them");
    const fit = positive(penalty) && w.every((x) => x > 0) && a.length === m && y.length === n;
    demand(fit && biases.length === 1, "a ridge regression needs λ > 0 and weights above 0, one for each row");
    demand(b === 0 || problem.intercept, "a ridge regression without an intercept has one");
    const row = compile(gram.kernel, samples, gram.rows, m);
    const k = new Float64Array(m), K = new Float64Array(m * m);
    for (let i = 0; i < m; i++) {
      row(i, k);
      for (let j = 0; j <= i; j++) K[i * m + j] = K[j * m + i] = k[j];
    }
    const L = factor(K, m);
    const errors = new Float64Array(n), sizes = new Float64Array(n);
    let drift = 0, weight = 0;
    for (let i = 0; i < n; i++) {
      row(m + i, k);
      let f = 0, size = 0;
      for (let j = 0; j < m; j++) {
        f += k[j] * a[j];
        size += Math.abs(k[j] * a[j]);
      }
      errors[i] = y[i] - b - f;
      sizes[i] = size + Math.abs(y[i]) + Math.abs(b);
      drift += w[i] * errors[i];
      weight += w[i];
      await breathe();
    }
    const mean = problem.intercept ? drift / weight : 0;
    const s = new Float64Array(m), slopes = new Float64Array(m);
    let misfit = 0, best = 0, onto = 0, values = 0, total = 0;
    for (let i = 0; i < n; i++) {
      row(m + i, k);
      const centred = errors[i] - mean, v = w[i] * centred;
      for (let j = 0; j < m; j++) {
        s[j] += v * k[j];
        slopes[j] += Math.abs(v * k[j]);
      }
      misfit += w[i] * errors[i] * errors[i];
      best += v * centred;
      onto += v * y[i];
      total += Math.abs(v);
      values += w[i] * (Math.abs(errors[i]) * sizes[i] + ROUNDING * sizes[i] * sizes[i]);
      await breathe();
    }
    let square = 0, apart = 0, least = Infinity, large = 0;
    const delta = new Float64Array(m);
    for (let i = 0; i < m; i++) {
      let pull = 0, size = 0;
      for (let j = 0; j < m; j++) {
        pull += K[i * m + j] * a[j];
        size += Math.abs(K[i * m + j] * a[j]);
      }
      slopes[i] += penalty * size;
      square += a[i] * pull;
      let left = s[i] - penalty * pull;
      apart += a[i] * left;
      values += Math.abs(a[i]) * slopes[i];
      large += slopes[i] * slopes[i];
      for (let t = 0; t < i; t++) left -= L[i * m + t] * delta[t];
      delta[i] = left / L[i * m + i];
      least = Math.min(least, L[i * m + i]);
    }
    const unsure = (ROUNDING * Math.sqrt(large)) / least, seen = dot(delta, delta);
    return {
      primal: misfit / 2 + (penalty * square) / 2,
      dual: onto - (best + penalty * square + 2 * apart + seen / penalty) / 2,
      stationarity: top(m, (i) => Math.abs(delta[i])),
      primal_feasibility: 0,
      dual_feasibility: 0,
      complementarity: 0,
      valueRounding: ROUNDING * values + (unsure * (2 * Math.sqrt(seen) + unsure)) / penalty,
      residualRounding: unsure,
      productRounding: 0,
      mass: total,
    };
  }

  const JUDGES = {
    "C-SVC": judgeBox, "ν-SVC": judgeBox, "ε-SVR": judgeBox, "ν-SVR": judgeBox,
    ridge: judgeRidge, linear: judgeLinear, logistic: judgeLogistic,
  };

  // ---- the proof --------------------------------------------------------------------------------
  const ARRAYS = ["targets", "multipliers", "biases", "C", "weights", "w", "coefficients", "rows"];

  async function check(proof, printed) {
    demand(proof && proof.format === 1, "the proof has not the format 1");
    const samples = [];
    for (const sample of proof.samples) samples.push(await readArray(sample.values));
    demand(proof.problems.length > 0, "the proof has no problems");
    const problems = [];
    for (const problem of proof.problems) problems.push(await readProblem(problem));
    const matrices = new Map();
    for (const [g, gram] of proof.grams.entries()) {
      if (gram.matrix) matrices.set(g, await readArray(gram.matrix));
    }
    const digest = new Digest();
    for (const { bytes } of [...samples, ...matrices.values()]) await digest.add(bytes);
    for (const { targetBytes } of problems) await digest.add(targetBytes);
    const faults = [];
    for (const [g, gram] of proof.grams.entries()) {
      await multiplyAll(g, gram, matrices.get(g), samples, problems, faults);
    }
    for (const { problem, data, products } of problems) {
      if (data.w) linearProducts(problem, data, samples, products);
    }
    const found = [];
    for (const { problem, data, products } of problems) {
      if (problem.kind === ON_LANDMARKS) {
        found.push(await judgeLandmarks(problem, data, proof.grams[problem.gram], samples));
      } else {
        demand(products.length > 0, "a problem has no rows");
        found.push(JUDGES[problem.kind](problem, data, products));
      }
    }
    const numbers = total(found);
    faults.push(...broken(found, numbers));
    const sum = await digest.end();
    faults.push(...misprints(found, numbers, sum, printed));
    return { faults, numbers, digest: sum };
  }

  async function readProblem(problem) {
    demand(problem.kind in JUDGES || problem.kind === ON_LANDMARKS, "a problem is of no kind that is known");
    const data = {};
    let targetBytes;
    for (const name of ARRAYS) {
      if (!(name in problem)) continue;
      const array = await readArray(problem[name]);
      data[name] = array.values;
      if (name === "targets") targetBytes = array.bytes;
    }
    for (const name of ["C", "weights"]) {
      const good = !data[name] || (data[name].length === data.targets.length && data[name].every((x) => x >= 0));
      demand(good, `${name} of a problem are not one number for each row, 0 or more`);
    }
    return { problem, data, targetBytes, products: [] };
  }

  /** Return the columns that a problem wants multiplied, each with a number for each of its rows. */
  function columnsOf(data) {
    const n = data.targets.length, beta = data.multipliers;
    if (!data.coefficients && beta.length === 2 * n) {
      return [beta.slice(0, n).map((x, i) => x + beta[n + i])];
    }
    const sides = data.coefficients ? [data.coefficients, beta] : [beta];
    const columns = [];
    for (const side of sides) {
      const m = side.length / n;
      demand(Number.isInteger(m) && m > 0, "a problem has not as many multipliers as rows");
      for (let c = 0; c < m; c++) columns.push(side.filter((_, t) => t % m === c));
    }
    return columns;
  }

  async function multiplyAll(g, gram, packed, samples, problems, faults) {
    const n = gram.rows;
    if (gram.landmarks) return;
    let row;
    if (packed) {
      demand(packed.values.length === (n * (n + 1)) / 2, "a Gram matrix has not the right size");
      row = (i, out) => {
        const at = (i * (i + 1)) / 2;
        for (let j = 0; j <= i; j++) out[j] = packed.values[at + j];
      };
      if (!(await isDefinite(packed.values, n))) {
        faults.push("the Gram matrix is not positive semi-definite, so its values bound nothing");
      }
    } else {
      row = compile(gram.kernel, samples, n);
    }
    const vectors = [], places = [];
    for (const entry of problems.filter(({ problem }) => problem.gram === g)) {
      const { data } = entry;
      const rows = data.rows ?? data.targets.map((_, i) => i);
      const seen = new Set(rows);
      const good = rows.every((r) => Number.isInteger(r) && r >= 0 && r < n);
      demand(good && seen.size === rows.length, "rows of a problem are numbered wrongly");
      const equal = rows.length === data.targets.length && (data.rows || rows.length === n);
      demand(equal, "a problem has not one target for each of its rows");
      for (const column of columnsOf(data)) {
        const full = new Float64Array(n);
        rows.forEach((r, i) => (full[r] = column[i]));
        vectors.push(full);
        places.push({ entry, rows });
      }
    }
    const products = await multiply(row, n, vectors);
    places.forEach(({ entry, rows }, v) => {
      const take = (a) => Float64Array.from(rows, (r) => a[r]);
      entry.products.push({ f: take(products[v].f), size: take(products[v].size) });
    });
  }

  /** w·x̃ at the rows, and Σ βx̃, with x̃ = (x, constant). */
  function linearProducts(problem, data, samples, products) {
    const { shape, values: X } = samples[problem.sample];
    const [n, d] = shape, constant = problem.constant;
    const width = d + Number(constant !== 0), m = data.w.length / width;
    demand(data.targets.length === n, "a linear machine has not one target for each row");
    demand(data.multipliers.length === n * m, "a linear machine has not the right weights");
    const x = (i, j) => (j < d ? X[i * d + j] : constant);
    const pair = (count) => ({ f: new Float64Array(count), size: new Float64Array(count) });
    const F = Array.from({ length: m }, () => pair(n));
    const G = Array.from({ length: m }, () => pair(width));
    for (let c = 0; c < m; c++) {
      for (let i = 0; i < n; i++) {
        const b = data.multipliers[i * m + c];
        for (let j = 0; j < width; j++) {
          const value = x(i, j), w = data.w[j * m + c];
          F[c].f[i] += value * w;
          F[c].size[i] += Math.abs(value * w);
          G[c].f[j] += value * b;
          G[c].size[j] += Math.abs(value * b);
        }
      }
    }
    products.push(...F, ...G);
  }

  function total(found) {
    const sum = (name) => found.reduce((a, one) => a + one[name], 0);
    const numbers = { primal: sum("primal"), dual: sum("dual") };
    numbers.gap = numbers.primal - numbers.dual;
    for (const name of CLAIMS.slice(3)) numbers[name] = Math.max(...found.map((one) => one[name]));
    const scale = Math.max(Math.abs(numbers.primal), Math.abs(numbers.dual));
    numbers.relative_gap = scale > 0 ? numbers.gap / scale : numbers.gap;
    return numbers;
  }

  function broken(found, numbers) {
    const scale = Math.max(Math.abs(numbers.primal), Math.abs(numbers.dual));
    const faults = [];
    found.forEach((one, i) => {
      const which = found.length > 1 ? `problem ${i + 1}: ` : "";
      if (one.fault) faults.push(which + one.fault);
      if (!(one.dual_feasibility <= FEASIBLE * Math.max(one.mass, 1e-300))) {
        faults.push(`${which}multipliers break a constraint by ${one.dual_feasibility.toPrecision(2)}`);
      }
      if (!(one.primal - one.dual >= -AGREEMENT * scale - one.valueRounding)) {
        faults.push(`${which}the dual value is above the primal one`);
      }
    });
    return faults;
  }

  function misprints(found, numbers, digest, printed) {
    const scale = Math.max(Math.abs(numbers.primal), Math.abs(numbers.dual));
    const worst = (name) => Math.max(...found.map((one) => one[name]));
    const values = AGREEMENT * scale + found.reduce((a, one) => a + one.valueRounding, 0);
    const allowed = {
      primal: values,
      dual: values,
      gap: values,
      relative_gap: scale > 0 ? values / scale : values,
      stationarity: AGREEMENT * numbers.stationarity + worst("residualRounding"),
      primal_feasibility: AGREEMENT * numbers.primal_feasibility + worst("residualRounding"),
      dual_feasibility: AGREEMENT * worst("mass"),
      complementarity: AGREEMENT * numbers.complementarity + worst("productRounding"),
    };
    const seen = new Set(printed.map(([name]) => name));
    const words = (name) => name.replaceAll("_", " ");
    const faults = CLAIMS.filter((name) => !seen.has(name)).map((name) => `${words(name)} is not printed`);
    if (!seen.has("digest")) faults.push("the digest of the data is not printed");
    for (const [name, text] of printed) {
      if (name === "digest") {
        if (text !== digest) faults.push("the data are not those of the printed digest");
        continue;
      }
      const most = name === "most_relative_gap";
      if (!most && !(name in allowed)) {
        faults.push(`${words(name)} is printed, and nobody knows what it is`);
        continue;
      }
      try {
        const [value, half] = readNumber(text);
        if (most) {
          if (!(numbers.relative_gap <= value + half + allowed.relative_gap)) {
            faults.push(`the fit is said to be within ${text} of the best one, and is not`);
          }
        } else if (!(Math.abs(value - numbers[name]) <= allowed[name] + half * (1 + 1e-9))) {
          faults.push(`${words(name)}: ${text} is printed, and ${numbers[name].toPrecision(12)} is right`);
        }
      } catch (error) {
        faults.push(`${words(name)}: ${error.message}`);
      }
    }
    return faults;
  }

  // ---- on the page ------------------------------------------------------------------------------
  async function run() {
    const verdict = document.getElementById("proof-verdict");
    const began = performance.now();
    const printed = Array.from(document.querySelectorAll("[data-claim]"), (cell) => [
      cell.dataset.claim,
      cell.textContent.trim(),
    ]);
    let result;
    try {
      const proof = JSON.parse(document.getElementById("proof").textContent);
      result = await check(proof, printed);
    } catch (error) {
      const why = error instanceof Unreadable ? error.message : "a part of the proof is not what it should be";
      result = { faults: [why], numbers: {}, digest: "" };
    }
    const seconds = (performance.now() - began) / 1000;
    for (const cell of document.querySelectorAll("[data-computed]")) {
      const value = result.numbers[cell.dataset.computed];
      cell.textContent = value === undefined ? "–" : String(value);
    }
    const holds = result.faults.length === 0;
    verdict.dataset.holds = String(holds);
    verdict.dataset.seconds = String(seconds);
    const title = document.createElement("b");
    title.textContent = holds ? "Checked here, now." : "This proof does not hold.";
    const shown = result.faults.slice(0, 5).join("; ");
    const more = result.faults.length > 5 ? ` and ${result.faults.length - 5} more` : "";
    const words = holds
      ? ` Your browser has computed all of it anew, in ${seconds.toFixed(2)} s, and the printed numbers are right.`
      : ` ${shown}${more}.`;
    verdict.replaceChildren(title, words);
    verdict.classList.add(holds ? "holds" : "fails");
  }

  addEventListener("load", () => setTimeout(run, 50));
})();

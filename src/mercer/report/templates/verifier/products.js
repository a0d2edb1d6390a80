// ---- products, and sums -----------------------------------------------------------------------
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

const sumOf = (a) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i];
  return sum;
};
const largest = (a) => top(a.length, (i) => Math.abs(a[i]));
/** Return one of the m columns of a matrix, which is stored by rows. */
const columnOf = (a, m, c) => Float64Array.from({ length: a.length / m }, (_, i) => a[i * m + c]);
const columnsOf = (a, m) => Array.from({ length: m }, (_, c) => columnOf(a, m, c));
const pairOf = (count) => ({ f: new Float64Array(count), size: new Float64Array(count) });
const sameLength = (n, ...arrays) => arrays.every((a) => a && a.length === n);
const signsAreGood = (y) => y.every((sign) => Math.abs(sign) === 1);
const labelsAreGood = (y, classes) => y.every((l) => Number.isInteger(l) && l >= 0 && l < classes);

/** What a judge finds, with zeros for what it does not speak of. */
const finding = (found) => ({
  primal_feasibility: 0, dual_feasibility: 0, complementarity: 0, productRounding: 0, fault: "",
  ...found,
});

/** The rows x̃ = (x, constant) of a linear machine. */
class Design {
  constructor(X, n, d, constant) {
    Object.assign(this, { X, n, d, constant, width: d + Number(constant !== 0) });
  }

  value(i, j) {
    return j < this.d ? this.X[i * this.d + j] : this.constant;
  }

  /** w·x̃ at all rows. */
  dot(w) {
    demand(w.length === this.width, "a linear machine has not one weight for each column");
    const result = pairOf(this.n);
    for (let i = 0; i < this.n; i++) {
      let sum = 0, size = 0;
      for (let j = 0; j < this.width; j++) {
        const term = this.value(i, j) * w[j];
        sum += term;
        size += Math.abs(term);
      }
      result.f[i] = sum;
      result.size[i] = size;
    }
    return result;
  }

  /** Σ v x̃. */
  combine(v) {
    demand(v.length === this.n, "a problem has not as many multipliers as rows");
    const { f, size } = pairOf(this.width);
    for (let i = 0; i < this.n; i++) {
      if (v[i] === 0) continue;
      for (let j = 0; j < this.width; j++) {
        const term = this.value(i, j) * v[i];
        f[j] += term;
        size[j] += Math.abs(term);
      }
    }
    return { f, size };
  }
}

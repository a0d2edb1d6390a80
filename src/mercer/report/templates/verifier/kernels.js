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

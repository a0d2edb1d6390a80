// ---- kernels: k(x, z) of two points, with the Python that makes the same one -------------------
lab.kernels = (() => {
  const dot = (x, z) => {
    let s = 0;
    for (let i = 0; i < z.length; i++) s += x[i] * z[i];
    return s;
  };
  const distance2 = (x, z) => {
    let s = 0;
    for (let i = 0; i < z.length; i++) s += (x[i] - z[i]) ** 2;
    return s;
  };

  const linear = () => ({
    formula: "k(x, z) = x·z", python: "Linear()", imports: "Linear", of: dot,
  });
  const rbf = (width) => ({
    formula: "k(x, z) = exp(−‖x − z‖²/2σ²)",
    python: `RBF(sigma=${width})`, imports: "RBF", width,
    of: (x, z) => Math.exp(-distance2(x, z) / (2 * width * width)),
  });
  const polynomial = (degree) => ({
    formula: `k(x, z) = (x·z/4 + 1)^${degree}`,
    python: `Polynomial(${degree}, gamma=0.25)`, imports: "Polynomial",
    of: (x, z) => {
      const base = dot(x, z) / 4 + 1;
      let value = base;
      for (let i = 1; i < degree; i++) value *= base;
      return value;
    },
  });
  // Matérn's kernels with half a degree: a polynomial of the scaled distance times exp.
  const matern = (nu, width) => ({
    formula: nu === 0.5 ? "k(x, z) = exp(−‖x − z‖/ℓ)"
      : nu === 1.5 ? "k(x, z) = (1 + s) exp(−s), s = √3‖x − z‖/ℓ"
        : "k(x, z) = (1 + s + s²/3) exp(−s), s = √5‖x − z‖/ℓ",
    python: `Matern(nu=${nu}, length_scale=${width})`, imports: "Matern", width,
    of: (x, z) => {
      const s = Math.sqrt(2 * nu * distance2(x, z)) / width;
      const factor = nu === 0.5 ? 1 : nu === 1.5 ? 1 + s : 1 + s + (s * s) / 3;
      return factor * Math.exp(-s);
    },
  });

  /** The kernel that the controls of an experiment describe. */
  function chosen(state) {
    if (state.kernel === "linear") return linear();
    if (state.kernel === "polynomial") return polynomial(state.degree);
    if (state.kernel.startsWith("matern")) return matern(Number(state.kernel.slice(6)), state.width);
    return rbf(state.width);
  }

  /** The matrix of all pairs of points. */
  function gram(kernel, X) {
    const n = X.length, K = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) K[i * n + j] = K[j * n + i] = kernel.of(X[i], X[j]);
    }
    return K;
  }

  /** Σ cᵢ k(xᵢ, ·) + b on a grid of the plane, row by row from below. */
  function onGrid(kernel, X, c, b, xs, ys) {
    const values = new Float64Array(xs.length * ys.length).fill(b);
    if (kernel.imports === "Linear") {
      // A sum of linear functions is one linear function.
      const w = [0, 0];
      X.forEach((x, i) => { w[0] += c[i] * x[0]; w[1] += c[i] * x[1]; });
      [X, c] = [[w], [1]];
    }
    X.forEach((x, i) => {
      if (c[i] === 0) return;
      if (kernel.imports === "RBF") {
        // The Gaussian of the plane is a product of two on the line: n·(w + h) exponentials, not n·w·h.
        const rate = 1 / (2 * kernel.width ** 2);
        const across = Float64Array.from(xs, (u) => c[i] * Math.exp(-rate * (u - x[0]) ** 2));
        for (let r = 0, at = 0; r < ys.length; r++) {
          const up = Math.exp(-rate * (ys[r] - x[1]) ** 2);
          for (let q = 0; q < xs.length; q++) values[at++] += up * across[q];
        }
      } else {
        const z = [0, 0];
        for (let r = 0, at = 0; r < ys.length; r++) {
          z[1] = ys[r];
          for (let q = 0; q < xs.length; q++) {
            z[0] = xs[q];
            values[at++] += c[i] * kernel.of(x, z);
          }
        }
      }
    });
    return values;
  }

  return { linear, rbf, polynomial, matern, chosen, gram, onGrid };
})();

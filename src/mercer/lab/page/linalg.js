// ---- linear algebra: dense, symmetric, small ---------------------------------------------------
// A matrix of n rows is a Float64Array in rows: entry (i, j) is A[i * n + j].
lab.linalg = (() => {
  /** Return L with A = LLᵀ, or null where A is not positive definite. */
  function cholesky(A, n) {
    const L = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let s = A[i * n + j];
        for (let k = 0; k < j; k++) s -= L[i * n + k] * L[j * n + k];
        if (j < i) L[i * n + j] = s / L[j * n + j];
        else if (s > 0) L[i * n + i] = Math.sqrt(s);
        else return null;
      }
    }
    return L;
  }

  /** Solve Lx = b. */
  function forward(L, n, b) {
    const x = Float64Array.from(b);
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
      x[i] /= L[i * n + i];
    }
    return x;
  }

  /** Solve Lᵀx = b. */
  function backward(L, n, b) {
    const x = Float64Array.from(b);
    for (let i = n - 1; i >= 0; i--) {
      x[i] /= L[i * n + i];
      for (let k = 0; k < i; k++) x[k] -= L[i * n + k] * x[i];
    }
    return x;
  }

  const solve = (L, n, b) => backward(L, n, forward(L, n, b));

  /** Eigenvalues, largest first, and their vectors (in rows) by Jacobi's rotations.
   *
   * Each rotation makes one entry off the diagonal zero; their sum of squares falls until nothing
   * is left. Slower than QR for large matrices, but every digit is right, small ones too.
   */
  function eigen(symmetric, n) {
    const A = Float64Array.from(symmetric);
    const V = new Float64Array(n * n);
    for (let i = 0; i < n; i++) V[i * n + i] = 1;
    for (let sweep = 0; sweep < 60; sweep++) {
      let off = 0, all = 0;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          all += A[i * n + j] ** 2;
          if (i !== j) off += A[i * n + j] ** 2;
        }
      }
      if (off <= 1e-32 * all) break; // the square of the rounding of a double
      for (let p = 0; p < n - 1; p++) {
        for (let q = p + 1; q < n; q++) {
          const a = A[p * n + q];
          if (a === 0) continue;
          const theta = (A[q * n + q] - A[p * n + p]) / (2 * a);
          const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
          const c = 1 / Math.hypot(t, 1), s = t * c;
          for (let k = 0; k < n; k++) {
            const x = A[k * n + p], y = A[k * n + q];
            A[k * n + p] = c * x - s * y;
            A[k * n + q] = s * x + c * y;
          }
          for (let k = 0; k < n; k++) {
            const x = A[p * n + k], y = A[q * n + k];
            A[p * n + k] = c * x - s * y;
            A[q * n + k] = s * x + c * y;
            const v = V[p * n + k], w = V[q * n + k];
            V[p * n + k] = c * v - s * w;
            V[q * n + k] = s * v + c * w;
          }
        }
      }
    }
    const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => A[j * n + j] - A[i * n + i]);
    return {
      values: order.map((i) => A[i * n + i]),
      vectors: order.map((i) => V.slice(i * n, (i + 1) * n)),
    };
  }

  const dot = (a, b) => {
    let s = 0;
    for (let i = 0; i < a.length; i++) s += a[i] * b[i];
    return s;
  };

  return { cholesky, forward, backward, solve, eigen, dot };
})();

// ---- numbers that look random and are the same for everyone ------------------------------------
lab.random = (seed) => {
  // A 32-bit counter stirred by multiplications: enough for pictures, the same in every browser.
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  };
  const normal = () =>
    Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
};

// ---- kernel ridge and the Gaussian process: one formula, two views -------------------------------
lab.experiments.push((() => {
  const { number } = lab.text, { dot, cholesky, forward, solve } = lab.linalg;
  const spread = (count) => Array.from({ length: count }, (_, i) => -4 + (8 * i) / (count - 1));
  const GRID = spread(161), COARSE = spread(81); // curves; functions that are drawn, each a factor of 81 × 81
  const KERNELS = [["rbf", "Gaussian (RBF)"], ["matern2.5", "Matérn 5/2"], ["matern1.5", "Matérn 3/2"], ["matern0.5", "exponential"]];

  /** Mean and covariance of the process at some places, given what was measured. */
  function posterior(kernel, X, L, c, at) {
    const columns = at.map((t) => X.map((x) => kernel.of(x, [t])));
    const halves = columns.map((k) => (X.length ? forward(L, X.length, k) : []));
    return {
      mean: columns.map((k) => dot(k, c)),
      covariance: (i, j) => kernel.of([at[i]], [at[j]]) - dot(halves[i], halves[j]),
    };
  }

  function compute(state) {
    const kernel = lab.kernels.chosen(state), n = state.points.length;
    const X = state.points.map((point) => [point[0]]), y = state.points.map((point) => point[1]);
    const K = lab.kernels.gram(kernel, X), A = Float64Array.from(K);
    for (let i = 0; i < n; i++) A[i * n + i] += state.noise ** 2;
    const L = cholesky(A, n), c = solve(L, n, y);
    let evidence = -0.5 * dot(y, c) - (n / 2) * Math.log(2 * Math.PI), freedom = 0;
    for (let i = 0; i < n; i++) {
      evidence -= Math.log(L[i * n + i]);
      freedom += solve(L, n, K.slice(i * n, (i + 1) * n))[i];
    }
    const curve = posterior(kernel, X, L, c, GRID);
    const deviation = GRID.map((_, i) => Math.sqrt(Math.max(0, curve.covariance(i, i))));
    return { kernel, n, X, y, c, mean: curve.mean, deviation, evidence, freedom, samples: samples(state, kernel, X, L, c) };
  }

  /** Functions of the posterior: mean plus a root of the covariance times numbers that stay the same,
   * so that the functions follow when a point is dragged. */
  function samples(state, kernel, X, L, c) {
    if (!state.samples) return [];
    const m = COARSE.length, { mean, covariance } = posterior(kernel, X, L, c, COARSE);
    const S = new Float64Array(m * m);
    for (let i = 0; i < m; i++) for (let j = 0; j <= i; j++) S[i * m + j] = S[j * m + i] = covariance(i, j);
    let root = null;
    // Smooth functions have a covariance that is singular to rounding; a millionth of the
    // deviation, squared, is not to be seen.
    for (let grain = 1e-12; !root; grain *= 10) {
      for (let i = 0; i < m; i++) S[i * m + i] += grain;
      root = cholesky(S, m);
    }
    const random = lab.random(100 + state.seed);
    return Array.from({ length: 3 }, () => {
      const z = Array.from({ length: m }, () => random.normal());
      return mean.map((v, i) => {
        let value = v;
        for (let k = 0; k <= i; k++) value += root[i * m + k] * z[k];
        return value;
      });
    });
  }

  function draw(plot, state, result) {
    plot.grid("x", "y");
    const band = (side) => GRID.map((x, i) => [x, result.mean[i] + side * 1.96 * result.deviation[i]]);
    plot.region([...band(1), ...band(-1).reverse()], "band");
    result.samples.forEach((values, s) => {
      plot.line(values.map((v, i) => [COARSE[i], v]), `thin g${[1, 3, 4][s]}`);
    });
    plot.line(GRID.map((x, i) => [x, result.mean[i]]), "curve");
  }

  const start = [[-3, -0.9], [-2.2, -1.2], [-1.1, -0.2], [-0.4, 0.9], [0.3, 1.3], [2.2, -0.4]];
  return {
    id: "process", name: "Ridge and GP", title: "Kernel ridge and the Gaussian process",
    lead: "Kernel ridge regression looks for the function that fits and stays small; a Gaussian process says how probable each function is. Both have the same curve, and the process knows where it does not know.",
    picture: "Measured points, the mean of the process, its band and functions drawn from it",
    help: "The band holds 95 % of the functions at each place. " + lab.keys(1),
    bounds: { x: [-4, 4], y: [-3, 3] },
    most: 60,
    start: () => ({ kernel: "rbf", width: 1, noise: 0.1, samples: true, seed: 0, tool: "0", points: start.map(([x, y]) => [x, y, 0]) }),
    controls: [
      { kind: "choice", key: "kernel", label: "Kernel", options: KERNELS },
      { kind: "slider", key: "width", label: "Width ℓ", low: 0.1, high: 10, log: true },
      { kind: "slider", key: "noise", label: "Noise σ", low: 0.01, high: 2, log: true },
      { kind: "tick", key: "samples", label: "Functions of the posterior" },
      { kind: "buttons", options: [["Draw others", (state) => { state.seed = (state.seed + 1) % 1000; }]], when: (state) => state.samples },
      { kind: "radios", key: "tool", label: "A click", options: [["0", "adds"], ["remove", "removes"]] },
    ],
    compute, draw,
    describe: (state, result, i) => `weight ${number(result.c[i])}`,
    words: (state, result) => result.n
      ? `${result.n} points use ${number(result.freedom, 3)} degrees of freedom. The evidence is ${number(result.evidence)}: try which width and noise make it largest.`
      : "Nothing is measured yet: this is what the kernel says before any data.",
    numbers: (state, result) => {
      const fitted = result.y.map((v, i) => state.noise ** 2 * result.c[i]);
      return [
        { name: "Evidence log p(y)", key: "evidence", value: result.evidence, text: number(result.evidence, 6) },
        { name: "Degrees of freedom", key: "freedom", value: result.freedom },
        { name: "Size of f, ‖f‖²", key: "norm", value: dot(result.c, result.y) - state.noise ** 2 * dot(result.c, result.c) },
        { name: "Squared residuals", key: "residuals", value: dot(fitted, fitted) },
        { name: "Mean at 0", key: "mean", value: result.mean[80] },
        { name: "Deviation at 0", key: "deviation", value: result.deviation[80] },
      ];
    },
    formula: (state, result) => `
      <p>min Σ (y<sub>i</sub> − f(x<sub>i</sub>))² + σ²‖f‖² &nbsp; has the answer &nbsp; f(x) = k(x)ᵀ(K + σ²I)⁻¹y</p>
      <p>f ∼ GP(0, k), &nbsp;y = f + noise: &nbsp; mean k(x)ᵀ(K + σ²I)⁻¹y, &nbsp;variance k(x, x) − k(x)ᵀ(K + σ²I)⁻¹k(x)</p>
      <p>log p(y) = −½ yᵀ(K + σ²I)⁻¹y − ½ log det(K + σ²I) − ½ n log 2π</p>
      <p>${result.kernel.formula.replace("σ", "ℓ")}</p>
      <p class="quiet">The first term of the evidence asks for a good fit, the second for a simple function. Far from the points the band goes back to what the kernel says alone.</p>`,
    python: (state, { kernel, n, X, y }) => `import numpy as np
from mercer import GaussianProcessRegressor, KernelRidge, ${kernel.imports}

kernel = ${kernel.python.replace("sigma", "length_scale")}
grid = np.linspace(-4, 4, 161)[:, None]
process = GaussianProcessRegressor(kernel, alpha=${state.noise} ** 2, optimizer=None)
${n ? `
x = np.array(${lab.python.list(X)})[:, None]
y = np.array(${lab.python.list(y)})
process.fit(x, y)
mean, deviation = process.predict(grid, return_std=True)
process.log_marginal_likelihood_value_  # the evidence
process.sample_y(grid, 3)  # functions of the posterior

ridge = KernelRidge(alpha=${state.noise} ** 2, kernel=kernel).fit(x, y)
ridge.predict(grid)  # the same mean` : `
mean, deviation = process.predict(grid, return_std=True)  # before any data`}`,
  };
})());

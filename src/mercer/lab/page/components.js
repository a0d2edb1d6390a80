// ---- principal components, of the plane and in feature space -------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text, { eigen } = lab.linalg;

  const SETS = {
    cigar: (random) => [1.6 * random.normal(), 0.4 * random.normal()],
    arc: (random) => {
      const angle = Math.PI * random.uniform();
      return [2.2 * Math.cos(angle) + 0.15 * random.normal(), 2.4 * Math.sin(angle) - 1.2 + 0.15 * random.normal()];
    },
    clusters: (random, i) => [[-2, 1], [2, 1.2], [0.2, -1.6]][i % 3].map((v) => v + 0.4 * random.normal()),
  };

  function points(name) {
    const random = lab.random(5), turn = name === "cigar" ? 0.5 : 0;
    const into = (v, most) => Math.round(100 * Math.max(-most, Math.min(most, v))) / 100;
    return Array.from({ length: 30 }, (_, i) => {
      const [u, v] = SETS[name](random, i);
      return [into(Math.cos(turn) * u - Math.sin(turn) * v, 3.9), into(Math.sin(turn) * u + Math.cos(turn) * v, 2.9), 0];
    });
  }

  /** A vector and its negative are the same axis: the largest entry is positive, as in Python. */
  function upright(vector) {
    let largest = 0;
    vector.forEach((v, i) => { if (Math.abs(v) > Math.abs(vector[largest])) largest = i; });
    return Array.from(vector, (v) => (vector[largest] < 0 ? -v : v));
  }

  function plane(X) {
    const n = X.length, mean = [0, 1].map((k) => X.reduce((sum, x) => sum + x[k], 0) / n);
    const S = new Float64Array(4);
    for (const x of X) {
      for (let a = 0; a < 2; a++) for (let b = 0; b < 2; b++) S[2 * a + b] += ((x[a] - mean[a]) * (x[b] - mean[b])) / (n - 1);
    }
    const { values, vectors } = eigen(S, 2);
    return { mean, variances: values.map((v) => Math.max(0, v)), axes: vectors.map(upright) };
  }

  function feature(state, X) {
    const kernel = lab.kernels.chosen(state), n = X.length, K = lab.kernels.gram(kernel, X);
    const rows = X.map((_, i) => K.slice(i * n, (i + 1) * n).reduce((sum, v) => sum + v, 0) / n);
    const all = rows.reduce((sum, v) => sum + v, 0) / n;
    let total = 0;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) K[i * n + j] += all - rows[i] - rows[j];
      total += K[i * n + i];
    }
    const { values, vectors } = eigen(K, n);
    const which = Number(state.component) - 1, value = values[which];
    if (!(value > 1e-12 * total)) return { kernel, values, total, which, missing: true };
    const u = upright(vectors[which]);
    // The entries of u add up to zero, so only the means of the rows are left of the centring.
    const c = u.map((v) => v / Math.sqrt(value));
    const shift = -c.reduce((sum, v, i) => sum + v * rows[i], 0);
    return { kernel, values, total, which, c, shift, projection: u.map((v) => v * Math.sqrt(value)) };
  }

  function compute(state) {
    const X = state.points.map(([x, y]) => [x, y]);
    if (X.length < 4) return { X, lacking: true };
    return { X, kernelised: state.method === "kernel", ...(state.method === "kernel" ? feature(state, X) : plane(X)) };
  }

  function draw(plot, state, result) {
    if (result.lacking) return plot.grid();
    if (result.kernelised) {
      plot.grid();
      if (result.missing) return undefined;
      const mesh = plot.mesh();
      const values = lab.kernels.onGrid(result.kernel, result.X, result.c, result.shift, mesh.xs, mesh.ys);
      const most = Math.max(...result.projection.map(Math.abs)) || 1;
      plot.paint(mesh, values.map((v) => (2 * v) / most), lab.Plot.twoSides());
      for (let level = -0.75; level <= 0.76; level += 0.25) {
        plot.contour(mesh, values, level * most, Math.abs(level) < 0.01 ? "level boundary" : "level margin");
      }
      return undefined;
    }
    plot.grid();
    const { mean, axes, variances } = result, along = (t, axis) => [mean[0] + t * axis[0], mean[1] + t * axis[1]];
    const deviations = variances.map(Math.sqrt);
    for (const size of [1, 2]) {
      plot.line(Array.from({ length: 73 }, (_, i) => {
        const angle = (i * Math.PI) / 36, [a, b] = deviations;
        const [x, y] = along(size * a * Math.cos(angle), axes[0]);
        return [x + size * b * Math.sin(angle) * axes[1][0], y + size * b * Math.sin(angle) * axes[1][1]];
      }), "thin g0");
    }
    for (const x of result.X) {
      const t = (x[0] - mean[0]) * axes[0][0] + (x[1] - mean[1]) * axes[0][1];
      plot.line([x, along(t, axes[0])], "slack g2");
    }
    plot.line([along(-12, axes[0]), along(12, axes[0])], "line g0 faint");
    plot.line([along(-2 * deviations[0], axes[0]), along(2 * deviations[0], axes[0])], "line g0");
    plot.line([along(-2 * deviations[1], axes[1]), along(2 * deviations[1], axes[1])], "line g1");
    return undefined;
  }

  const kernelised = (state) => state.method === "kernel";
  return {
    id: "components", name: "PCA and kernel PCA", title: "Principal components",
    lead: "The first axis is the direction in which the points vary most. With a kernel the directions are those of the feature space, and in the plane they become curves.",
    picture: "Points, and the axes or the level curves of their principal components",
    help: lab.keys(1),
    bounds: { x: [-4, 4], y: [-3, 3] },
    most: 60,
    start: () => ({ data: "cigar", method: "plane", kernel: "rbf", width: 1, degree: 2, component: "1", tool: "0", points: points("cigar") }),
    controls: [
      { kind: "choice", key: "data", label: "Data", then: (state) => { state.points = points(state.data); }, options: [["cigar", "a cigar"], ["arc", "an arc"], ["clusters", "three clusters"]] },
      { kind: "radios", key: "method", label: "Components", options: [["plane", "of the plane"], ["kernel", "of a kernel"]] },
      { kind: "choice", key: "kernel", label: "Kernel", when: kernelised, options: [["rbf", "Gaussian (RBF)"], ["polynomial", "polynomial"], ["linear", "linear"]] },
      { kind: "slider", key: "width", label: "Width σ", low: 0.1, high: 10, log: true, when: (state) => kernelised(state) && state.kernel === "rbf" },
      { kind: "slider", key: "degree", label: "Degree", low: 2, high: 5, step: 1, when: (state) => kernelised(state) && state.kernel === "polynomial" },
      { kind: "radios", key: "component", label: "Shown", when: kernelised, options: [["1", "first"], ["2", "second"], ["3", "third"]] },
      { kind: "radios", key: "tool", label: "A click", options: [["0", "adds"], ["remove", "removes"]] },
    ],
    compute, draw,
    describe: (state, result, i) => (result.projection ? `projection ${number(result.projection[i])}` : ""),
    words: (state, result) => {
      if (result.lacking) return "There have to be four points. Click into the picture to add one.";
      if (result.missing) return "This feature space has fewer directions: the points do not vary along this one.";
      if (result.kernelised) return `Component ${result.which + 1} holds ${number((100 * result.values[result.which]) / result.total, 3)} % of the variance in feature space.`;
      const [a, b] = result.variances;
      return `The first axis holds ${number((100 * a) / (a + b || 1), 3)} % of the variance.`;
    },
    numbers: (state, result) => {
      if (result.lacking) return [];
      if (result.kernelised) {
        return [0, 1, 2].map((k) => ({ name: `Eigenvalue ${k + 1}`, key: `eigenvalue-${k + 1}`, value: result.values[k] }))
          .concat({ name: "Sum of all", key: "total", value: result.total });
      }
      const degrees = (Math.atan2(result.axes[0][1], result.axes[0][0]) * 180) / Math.PI;
      return [
        { name: "First variance", key: "variance-1", value: result.variances[0] },
        { name: "Second variance", key: "variance-2", value: result.variances[1] },
        { name: "First axis", key: "axis", value: result.axes[0], text: result.axes[0].map((v) => number(v, 3)).join(", ") },
        { name: "Its angle", key: "angle", value: degrees, text: `${number(degrees, 3)}°` },
      ];
    },
    formula: (state, result) => result.kernelised ? `
      <p>K̃ = HKH, &nbsp;H = I − 11ᵀ/n, &nbsp; K̃u = λu</p>
      <p>projection of x: &nbsp; λ<sup>−1/2</sup> Σ u<sub>i</sub> k̃(x<sub>i</sub>, x), &nbsp; ${result.kernel.formula}</p>
      <p class="quiet">Only inner products of the centred points are needed. On a dashed curve the projection is the same; the solid one is where it is zero.</p>` : `
      <p>max<sub>‖v‖=1</sub> vᵀSv, &nbsp; S = Σ (x<sub>i</sub> − m)(x<sub>i</sub> − m)ᵀ/(n − 1), &nbsp; Sv = λv</p>
      <p class="quiet">The axis with the largest variance is the one with the least squared distances (dashed) as well, since for each point the two add up to its distance from the mean. The ellipses are one and two deviations.</p>`,
    python: (state, result) => `import numpy as np
from mercer import ${result.kernelised ? `KernelPCA, ${result.kernel.imports}` : "PCA"}

X = np.array(${lab.python.rows(state.points)})
${result.kernelised ? `model = KernelPCA(3, kernel=${result.kernel.python}).fit(X)

model.eigenvalues_
model.transform(X)[:, ${result.which}]  # projections` : `model = PCA(2).fit(X)

model.explained_variance_
model.components_  # the axes`}`,
  };
})());

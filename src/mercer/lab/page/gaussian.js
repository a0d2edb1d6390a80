// ---- a Gaussian, cut and seen from the side ------------------------------------------------------
lab.experiments.push((() => {
  const { number } = lab.text;
  const bell = (t) => Math.exp(-t * t / 2);

  function compute(state) {
    const [m1, m2] = state.points[0], a = state.points[1][0], { s1, s2, rho } = state;
    return {
      mean: [m1, m2], at: a,
      conditionalMean: m2 + ((rho * s2) / s1) * (a - m1), conditionalDeviation: s2 * Math.sqrt(1 - rho * rho),
      information: -0.5 * Math.log(1 - rho * rho),
    };
  }

  function draw(plot, state, { mean, at, conditionalMean, conditionalDeviation }) {
    const { s1, s2, rho } = state, root = Math.sqrt(1 - rho * rho), mesh = plot.mesh();
    plot.grid();
    const values = new Float64Array(mesh.xs.length * mesh.ys.length);
    let k = 0;
    for (const y of mesh.ys) {
      for (const x of mesh.xs) {
        const u = (x - mean[0]) / s1, v = (y - mean[1]) / s2;
        values[k++] = bell(u) * bell((v - rho * u) / root);
      }
    }
    const own = lab.Plot.colour("--g0");
    plot.paint(mesh, values, (v, pixels, p) => {
      for (let c = 0; c < 3; c++) pixels[p + c] = own[c];
      pixels[p + 3] = 150 * v;
    });
    for (const size of [1, 2]) {
      plot.line(Array.from({ length: 121 }, (_, i) => {
        const t = (i * Math.PI) / 60, u = size * Math.cos(t), v = size * Math.sin(t);
        return [mean[0] + s1 * u, mean[1] + s2 * (rho * u + root * v)];
      }), "thin g0");
    }
    // The regression line: the conditional mean for every place of the cut.
    plot.line([-4, 4].map((x) => [x, mean[1] + ((rho * s2) / s1) * (x - mean[0])]), "line g2 dashed faint");
    plot.line([[at, -3], [at, 3]], "line g1");
    const side = Array.from({ length: 121 }, (_, i) => -3 + i / 20);
    // Densities drawn to one scale: higher where they are narrower.
    const curve = side.map((y) => [at + (0.5 / conditionalDeviation) * bell((y - conditionalMean) / conditionalDeviation), y]);
    plot.region([[at, -3], ...curve, [at, 3]], "band g1");
    plot.line(curve, "line g1");
    plot.line(side.map((y) => [-4 + (0.5 / s2) * bell((y - mean[1]) / s2), y]), "thin g0");
    plot.line(Array.from({ length: 161 }, (_, i) => [-4 + i / 20, -3 + (0.5 / s1) * bell((-4 + i / 20 - mean[0]) / s1)]), "thin g0");
    plot.circle(at, conditionalMean, 4.5, "meeting");
    const left = plot.X(at) > plot.width - 130;
    plot.text(plot.X(at) + (left ? -8 : 8), 18, `x₁ = ${number(at, 3)}`, left ? "alpha end" : "alpha");
  }

  return {
    id: "gaussian", name: "Gaussian", title: "A Gaussian, its marginals and its conditional",
    lead: "Seen from the side a Gaussian is a Gaussian, and cut along a line it is one again. Move the cut: the conditional mean runs along a straight line, and its deviation does not change at all.",
    picture: "The density of a Gaussian, a cut through it and the conditional and marginal densities",
    help: "Drag the middle, or the handle of the cut. Keys: Tab to a handle, arrows move it (Shift: finely), Page Down goes to the other one. At the edges: the marginals.",
    bounds: { x: [-4, 4], y: [-3, 3] },
    fixed: true,
    start: () => ({ s1: 1.2, s2: 1, rho: 0.7, points: [[0, 0, 0], [1.5, -2.5, -1]] }),
    controls: [
      { kind: "slider", key: "s1", label: "Deviation of x₁", low: 0.2, high: 2, step: 0.05 },
      { kind: "slider", key: "s2", label: "Deviation of x₂", low: 0.2, high: 2, step: 0.05 },
      { kind: "slider", key: "rho", label: "Correlation ρ", low: -0.95, high: 0.95, step: 0.05 },
    ],
    compute, draw,
    describe: (state, result, i) => (i ? "handle of the cut" : "mean of the Gaussian"),
    words: (state, result) => `Given x₁ = ${number(result.at, 3)}, x₂ is ${number(result.conditionalMean, 3)} ± ${number(result.conditionalDeviation, 3)}; without it ${number(result.mean[1], 3)} ± ${number(state.s2, 3)}.`,
    numbers: (state, result) => [
      { name: "Conditional mean", key: "conditional-mean", value: result.conditionalMean },
      { name: "Conditional deviation", key: "conditional-deviation", value: result.conditionalDeviation },
      { name: "Marginal mean", key: "marginal-mean", value: result.mean[1] },
      { name: "Marginal deviation", key: "marginal-deviation", value: state.s2 },
      { name: "Slope of the line", key: "slope", value: (state.rho * state.s2) / state.s1 },
      { name: "Mutual information", key: "information", value: result.information },
    ],
    formula: () => `
      <p>x ∼ N(μ, Σ), &nbsp; Σ = [σ₁² ρσ₁σ₂; ρσ₁σ₂ σ₂²]</p>
      <p>x₂ given x₁: &nbsp; N(μ₂ + Σ₂₁Σ₁₁⁻¹(x₁ − μ₁), &nbsp;Σ₂₂ − Σ₂₁Σ₁₁⁻¹Σ₁₂)</p>
      <p>x₂ alone: &nbsp; N(μ₂, Σ₂₂); &nbsp; information −½ log(1 − ρ²)</p>
      <p class="quiet">What is learnt about x₂ depends on where the cut is; how much is learnt depends on ρ alone. A Gaussian process is this formula with one coordinate for each place.</p>`,
    python: (state, { mean, at }) => `import numpy as np
from mercer import Gaussian

s1, s2, rho = ${state.s1}, ${state.s2}, ${state.rho}
both = Gaussian(${lab.python.list(mean)}, [[s1**2, rho * s1 * s2], [rho * s1 * s2, s2**2]])
given = both.condition([0], [${at}])
alone = both.marginal([1])

given.mean, np.sqrt(given.covariance)
alone.mean, np.sqrt(alone.covariance)`,
  };
})());

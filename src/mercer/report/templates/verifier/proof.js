// ---- the proof: its arrays, the products that problems ask for, and the table of the judges ----
const box = { columns: boxColumns, judge: judgeBox };
const joint = { columns: jointColumns, judge: judgeJoint };
const manifold = { columns: manifoldColumns, judge: judgeManifold };
const ON_GRAM = {
  ...Object.fromEntries(BOXES.map((kind) => [kind, box])),
  "Crammer–Singer SVM": joint,
  "Weston–Watkins SVM": joint,
  ridge: { columns: ridgeColumns, judge: judgeRidge },
  logistic: { columns: logisticColumns, judge: judgeLogistic },
  "mode of a process": { columns: modeColumns, judge: judgeMode },
  ...Object.fromEntries(MANIFOLDS.map((kind) => [kind, manifold])),
};
const ON_LANDMARKS = {
  "ridge on landmarks": judgeLandmarkRidge,
  "classes on landmarks": judgeLandmarkClasses,
};
const ON_ROWS = {
  linear: judgeLinear,
  "linear, ℓ₁": judgeSparseMargin,
  "linear, Crammer–Singer": judgeLinearJoint,
  "linear logistic": judgeLinearLogistic,
  squares: judgeSquares,
  penalty: judgePenalty,
  norm: judgeNorm,
};
const MULTIPLE = "multiple kernels";
const knows = (table, kind) => Object.hasOwn(table, kind);

const ARRAYS = [
  "targets", "multipliers", "biases", "C", "weights", "noise", "w", "coefficients", "rows",
  "values", "edges", "edge_weights", "kernel_weights",
];

/** Read the arrays of a problem, and of its parts. */
async function readProblem(problem) {
  const { kind } = problem, data = {};
  const known = [ON_GRAM, ON_LANDMARKS, ON_ROWS].some((table) => knows(table, kind));
  demand(known || kind === MULTIPLE, "a problem is of no kind that is known");
  let targetBytes;
  for (const name of ARRAYS) {
    if (!(name in problem)) continue;
    const array = await readArray(problem[name]);
    data[name] = array.values;
    if (name === "targets") targetBytes = array.bytes;
  }
  for (const name of ["C", "weights", "noise"]) {
    const good = !data[name] || (data[name].length === data.targets.length && data[name].every((x) => x >= 0));
    demand(good, `${name} of a problem are not one number for each row, 0 or more`);
  }
  const entry = { problem, data, targetBytes, products: new Map(), parts: [] };
  entry.grams = kind === MULTIPLE ? problem.grams : "gram" in problem ? [problem.gram] : [];
  if (kind === MULTIPLE) {
    for (const part of problem.parts) {
      demand(BOXES.includes(part.kind), "machines that weigh kernels are support vector machines");
      entry.parts.push({ ...(await readProblem(part)), grams: entry.grams });
    }
    demand(entry.parts.length > 0, "machines that weigh kernels are support vector machines");
  } else demand(targetBytes, "a problem has no targets");
  return entry;
}

async function check(proof, printed) {
  demand(proof && proof.format === 1, "the proof has not the format 1");
  const samples = [];
  for (const sample of proof.samples) samples.push(await readArray(sample.values));
  demand(proof.problems.length > 0, "the proof has no problems");
  const entries = [];
  for (const problem of proof.problems) entries.push(await readProblem(problem));
  const leaves = entries.flatMap((entry) => (entry.parts.length ? entry.parts : [entry]));
  const matrices = new Map();
  for (const [g, gram] of proof.grams.entries()) {
    if (gram.matrix) matrices.set(g, await readArray(gram.matrix));
  }
  const digest = new Digest();
  for (const { bytes } of [...samples, ...matrices.values()]) await digest.add(bytes);
  for (const { targetBytes } of leaves) await digest.add(targetBytes);
  const faults = [], lows = new Map();
  for (const [g, gram] of proof.grams.entries()) {
    if (gram.landmarks !== undefined) lows.set(g, new Landmarks(gram, matrices.get(g), samples));
    const mine = leaves.filter(({ grams, problem }) => grams.includes(g) && knows(ON_GRAM, problem.kind));
    await multiplyAll(g, gram, lows.get(g), matrices.get(g), samples, mine, faults);
  }
  const found = [];
  for (const entry of entries) found.push(await judgeEntry(entry, lows, samples));
  const numbers = total(found);
  faults.push(...broken(found, numbers));
  const sum = await digest.end();
  faults.push(...misprints(found, numbers, sum, printed));
  return { faults, numbers, digest: sum };
}

async function judgeEntry(entry, lows, samples) {
  const { problem, data } = entry, { kind } = problem;
  if (kind === MULTIPLE) return judgeKernels(entry);
  if (knows(ON_LANDMARKS, kind)) {
    demand(lows.has(problem.gram), "a problem has no landmarks");
    return ON_LANDMARKS[kind](problem, data, lows.get(problem.gram));
  }
  if (knows(ON_GRAM, kind)) {
    demand(entry.products.has(problem.gram), "a problem has no rows");
    return ON_GRAM[kind].judge(problem, data, entry.products.get(problem.gram));
  }
  const { shape, values } = samples[problem.sample];
  demand(shape.length === 2 && data.targets.length === shape[0], "a linear machine has not one target for each row");
  return ON_ROWS[kind](problem, data, new Design(values, shape[0], shape[1], problem.constant));
}

/** Whether all answers have coefficients of the same sum: then K may be definite up to a constant. */
const fixesSums = ({ problem: { kind, intercept } }) =>
  (BOXES.includes(kind) && kind !== "C-SVC without bias") || (kind === "ridge" && intercept);

/** The lower triangle of a matrix on vectors whose sum is 0. */
function centredMatrix(packed, n) {
  const means = new Float64Array(n), sizes = new Float64Array(n);
  for (let i = 0, at = 0; i < n; i++) {
    for (let j = 0; j <= i; j++, at++) {
      means[i] += packed[at];
      sizes[i] += Math.abs(packed[at]);
      if (j < i) {
        means[j] += packed[at];
        sizes[j] += Math.abs(packed[at]);
      }
    }
  }
  const mean = sumOf(means) / n / n, added = 8 * EPSILON * largest(sizes);
  const centred = packed.slice();
  for (let i = 0, at = 0; i < n; i++) {
    for (let j = 0; j <= i; j++, at++) {
      centred[at] += mean - means[i] / n - means[j] / n + (i === j ? added : 0);
    }
  }
  return centred;
}

/** Multiply a Gram matrix with the coefficients of all problems on it. */
async function multiplyAll(g, gram, low, packed, samples, leaves, faults) {
  const n = low ? low.n : gram.rows;
  let row;
  if (!low && packed) {
    demand(packed.values.length === (n * (n + 1)) / 2, "a Gram matrix has not the right size");
    row = (i, out) => {
      const at = (i * (i + 1)) / 2;
      for (let j = 0; j <= i; j++) out[j] = packed.values[at + j];
    };
    const seen = leaves.every(fixesSums) ? centredMatrix(packed.values, n) : packed.values;
    if (!(await isDefinite(seen, n))) {
      faults.push("the Gram matrix is not positive semi-definite, so its values bound nothing");
    }
  } else if (!low) row = compile(gram.kernel, samples, n);
  const vectors = [], places = [];
  for (const entry of leaves) {
    const { problem, data } = entry;
    const rows = data.rows ?? data.targets.map((_, i) => i);
    const good = rows.every((r) => Number.isInteger(r) && r >= 0 && r < n);
    demand(good && new Set(rows).size === rows.length, "rows of a problem are numbered wrongly");
    const equal = rows.length === data.targets.length && (data.rows || rows.length === n);
    demand(equal, "a problem has not one target for each of its rows");
    entry.products.set(g, []);
    for (const column of ON_GRAM[problem.kind].columns(problem, data)) {
      const full = new Float64Array(n);
      rows.forEach((r, i) => (full[r] = column[i]));
      vectors.push(full);
      places.push({ entry, rows });
    }
  }
  if (!vectors.length) return;
  const products = low ? await low.projected(vectors) : await multiply(row, n, vectors);
  places.forEach(({ entry, rows }, v) => {
    const take = (a) => Float64Array.from(rows, (r) => a[r]);
    entry.products.get(g).push({ f: take(products[v].f), size: take(products[v].size) });
  });
}

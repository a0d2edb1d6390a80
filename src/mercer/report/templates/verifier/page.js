// ---- what is printed, and the verdict on the page ----------------------------------------------
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
    const out = one.broken ?? one.dual_feasibility;
    if (!(out <= FEASIBLE * Math.max(one.mass, 1e-300))) {
      faults.push(`${which}multipliers break a constraint by ${out.toPrecision(2)}`);
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

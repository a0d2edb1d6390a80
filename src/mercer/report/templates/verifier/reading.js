// The verifier of the proof that this page carries. It shares no code with any other part of mercer
// and takes nothing from it but rows, kernel settings and answers: the Gram matrix, the primal and
// the dual value, the gap and the residuals are computed here, and each printed number is compared.
const AGREEMENT = 1e-9; // of printed and computed numbers, as a share of the values
const FEASIBLE = 1e-6; // multipliers out of their constraints, as a share of their sum
const HARD = 1e-3; // how far a constraint without a price may be broken
const EPSILON = 2 ** -52; // rounding of one operation
const ROUNDING = 64 * EPSILON; // of a sum, as a share of the sizes that it adds up
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
    const text = atob(stored.data), packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
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

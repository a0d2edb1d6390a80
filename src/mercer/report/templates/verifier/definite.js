// Cholesky's method on square tiles, which stay in the cache while they are used.
const TILE = 32;

/** Whether a Cholesky factor proves that a matrix (its lower triangle, by rows) is definite. */
async function isDefinite(packed, n) {
  const value = (i, j) => packed[(i * (i + 1)) / 2 + j];
  let trace = 0;
  for (let i = 0; i < n; i++) trace += Math.abs(value(i, i));
  const shift = 8 * (n + 2) * 2 ** -52 * trace;
  const count = Math.ceil(n / TILE);
  const tiles = [];
  const tile = (I, J) => tiles[(I * (I + 1)) / 2 + J];
  for (let I = 0; I < count; I++) {
    for (let J = 0; J <= I; J++) {
      const T = new Float64Array(TILE * TILE); // beyond n it is the identity
      for (let r = 0; r < TILE; r++) {
        for (let c = 0; c < TILE; c++) {
          const i = I * TILE + r, j = J * TILE + c;
          const own = i === j ? (i < n ? shift : 1) : 0;
          const known = i < n && j < n ? value(Math.max(i, j), Math.min(i, j)) : 0;
          T[r * TILE + c] = known + own;
        }
      }
      tiles.push(T);
    }
  }
  for (let J = 0; J < count; J++) {
    for (let T = 0; T < J; T++) {
      for (let I = J; I < count; I++) subtractProduct(tile(I, J), tile(I, T), tile(J, T));
      await breathe();
    }
    if (!factorTile(tile(J, J))) return false;
    for (let I = J + 1; I < count; I++) solveTile(tile(I, J), tile(J, J));
  }
  return true;
}

/** C −= A Bᵀ, two rows and four columns at a time. */
function subtractProduct(C, A, B) {
  for (let i = 0; i < TILE; i += 2) {
    const p = i * TILE, q = p + TILE;
    for (let j = 0; j < TILE; j += 4) {
      const u = j * TILE, v = u + TILE, w = v + TILE, z = w + TILE;
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let t = 0; t < TILE; t++) {
        const x = A[p + t], y = A[q + t];
        const k = B[u + t], l = B[v + t], m = B[w + t], o = B[z + t];
        a += x * k; b += x * l; c += x * m; d += x * o;
        e += y * k; f += y * l; g += y * m; h += y * o;
      }
      C[p + j] -= a; C[p + j + 1] -= b; C[p + j + 2] -= c; C[p + j + 3] -= d;
      C[q + j] -= e; C[q + j + 1] -= f; C[q + j + 2] -= g; C[q + j + 3] -= h;
    }
  }
}

function factorTile(D) {
  for (let i = 0; i < TILE; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = D[i * TILE + j];
      for (let t = 0; t < j; t++) sum -= D[i * TILE + t] * D[j * TILE + t];
      if (j < i) D[i * TILE + j] = sum / D[j * TILE + j];
      else if (!(sum > 0)) return false;
      else D[i * TILE + i] = Math.sqrt(sum);
    }
  }
  return true;
}

function solveTile(A, D) {
  for (let i = 0; i < TILE; i++) {
    for (let j = 0; j < TILE; j++) {
      let sum = A[i * TILE + j];
      for (let t = 0; t < j; t++) sum -= A[i * TILE + t] * D[j * TILE + t];
      A[i * TILE + j] = sum / D[j * TILE + j];
    }
  }
}

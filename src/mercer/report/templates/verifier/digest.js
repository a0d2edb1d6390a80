// ---- SHA-256 (FIPS 180-4) ---------------------------------------------------------------------
const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32);
const ROUNDS = Uint32Array.from(PRIMES, (p) => fraction(Math.cbrt(p)));

const turn = (x, by) => (x >>> by) | (x << (32 - by));

class Digest {
  constructor() {
    this.state = Uint32Array.from(PRIMES.slice(0, 8), (p) => fraction(Math.sqrt(p)));
    this.rest = new Uint8Array(64);
    this.held = 0;
    this.length = 0;
    this.words = new Uint32Array(64);
  }

  async add(bytes) {
    this.length += bytes.length;
    let at = 0;
    while (at < bytes.length) {
      if (this.held === 0 && bytes.length - at >= 64) {
        this.block(bytes, at);
        at += 64;
      } else {
        const some = Math.min(64 - this.held, bytes.length - at);
        this.rest.set(bytes.subarray(at, at + some), this.held);
        this.held += some;
        at += some;
        if (this.held === 64) {
          this.block(this.rest, 0);
          this.held = 0;
        }
      }
      if (at % 65536 === 0) await breathe();
    }
  }

  async end() {
    const length = this.length;
    const tail = new Uint8Array(((this.held < 56 ? 64 : 128) - this.held));
    tail[0] = 0x80;
    const view = new DataView(tail.buffer);
    view.setUint32(tail.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(tail.length - 4, (length * 8) % 2 ** 32);
    await this.add(tail);
    return Array.from(this.state, (word) => word.toString(16).padStart(8, "0")).join("");
  }

  block(bytes, at) {
    const w = this.words;
    for (let i = 0; i < 16; i++) {
      const j = at + 4 * i;
      w[i] = (bytes[j] << 24) | (bytes[j + 1] << 16) | (bytes[j + 2] << 8) | bytes[j + 3];
    }
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
      const t = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
      w[i] = (w[i - 16] + s + w[i - 7] + t) | 0;
    }
    const H = this.state;
    let a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
    for (let i = 0; i < 64; i++) {
      const s = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const p = (h + s + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
      const t = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const q = (t + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + p) | 0; d = c; c = b; b = a; a = (p + q) | 0;
    }
    H[0] += a; H[1] += b; H[2] += c; H[3] += d; H[4] += e; H[5] += f; H[6] += g; H[7] += h;
  }
}

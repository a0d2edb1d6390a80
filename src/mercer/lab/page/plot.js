// ---- pictures: SVG in which one unit is one pixel of the screen ----------------------------------
lab.svg = (() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";

  function make(name, attributes = {}, parent = null) {
    const element = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (parent) parent.append(element);
    return element;
  }

  // What a saved picture needs of the page's style, since it leaves the page without it.
  const STYLES = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "stroke-linejoin", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight",
    "text-anchor", "paint-order",
  ];

  /** The text of an SVG file with the colours that are on the screen. */
  function standalone(svg) {
    const copy = svg.cloneNode(true);
    const from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      for (const name of STYLES) {
        const value = style.getPropertyValue(name);
        if (value) to[i].setAttribute(name, value);
      }
      for (const name of ["class", "tabindex", "role", "aria-label", "aria-roledescription"]) to[i].removeAttribute(name);
    });
    copy.querySelectorAll(".hit").forEach((element) => element.remove());
    const [, , width, height] = svg.getAttribute("viewBox").split(" ");
    copy.setAttribute("xmlns", NAMESPACE);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    for (const name of ["class", "role", "tabindex", "aria-label"]) copy.removeAttribute(name);
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--card");
    copy.prepend(make("rect", { width, height, fill: paper.trim() }));
    return new XMLSerializer().serializeToString(copy);
  }

  return { make, standalone };
})();

/** A window of the plane, drawn into an SVG element: axes, curves, fields and contours. */
lab.Plot = class {
  constructor(svg, bounds) {
    this.svg = svg;
    this.bounds = bounds;
    for (const name of ["field", "axes", "lines", "marks", "words"]) {
      this[name] = lab.svg.make("g", { class: name }, svg);
    }
    for (const name of ["field", "axes"]) this[name].setAttribute("aria-hidden", "true");
  }

  /** Fit the picture to the width that it has on the screen, so that text keeps its size. */
  fit() {
    const { x, y, ratio, tall = 0 } = this.bounds; // a table needs some height on a telephone too
    this.width = Math.max(280, Math.round(this.svg.parentElement.clientWidth));
    this.height = Math.max(tall, Math.round(this.width * (ratio || (y[1] - y[0]) / (x[1] - x[0]))));
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
  }

  X(x) { return ((x - this.bounds.x[0]) / (this.bounds.x[1] - this.bounds.x[0])) * this.width; }
  Y(y) { return ((this.bounds.y[1] - y) / (this.bounds.y[1] - this.bounds.y[0])) * this.height; }

  /** The place in the plane that a pointer is at. */
  at(event) {
    const box = this.svg.getBoundingClientRect(), { x, y } = this.bounds;
    return [
      x[0] + ((event.clientX - box.left) / box.width) * (x[1] - x[0]),
      y[1] - ((event.clientY - box.top) / box.height) * (y[1] - y[0]),
    ];
  }

  clear() {
    for (const name of ["field", "axes", "lines", "words"]) this[name].replaceChildren();
  }

  grid(xName = "x₁", yName = "x₂") {
    const { x, y } = this.bounds, step = this.width < 480 ? 2 : 1;
    const ticks = (range, by) => {
      const all = [];
      for (let v = Math.ceil(range[0] / by) * by; v <= range[1] + 1e-9; v += by) all.push(Math.round(v * 100) / 100);
      return all;
    };
    const upright = ticks(x, step * Math.max(1, Math.round((x[1] - x[0]) / 10)));
    const flat = ticks(y, step * Math.max(1, Math.round((y[1] - y[0]) / 8)));
    for (const v of upright) {
      this.line([[v, y[0]], [v, y[1]]], v === 0 ? "axis" : "grid", this.axes);
      if (v > x[0] && v < x[1]) this.text(this.X(v), this.height - 6, lab.text.plain(v), "tick middle", this.axes);
    }
    for (const v of flat) {
      this.line([[x[0], v], [x[1], v]], v === 0 ? "axis" : "grid", this.axes);
      if (v > y[0] && v < y[1]) this.text(6, this.Y(v) - 4, lab.text.plain(v), "tick", this.axes);
    }
    this.text(this.width - 8, this.height - 6, xName, "tick end", this.axes);
    this.text(6, 16, yName, "tick", this.axes);
  }

  line(points, style, layer = this.lines) {
    const d = points.map(([x, y], i) => `${i ? "L" : "M"}${this.X(x).toFixed(2)} ${this.Y(y).toFixed(2)}`);
    return lab.svg.make("path", { d: d.join(""), class: style }, layer);
  }

  /** A closed region, such as the band between two curves. */
  region(points, style, layer = this.lines) {
    const path = this.line(points, style, layer);
    path.setAttribute("d", `${path.getAttribute("d")}Z`);
    return path;
  }

  circle(x, y, r, style, layer = this.lines) {
    return lab.svg.make("circle", { cx: this.X(x).toFixed(2), cy: this.Y(y).toFixed(2), r, class: style }, layer);
  }

  text(px, py, words, style, layer = this.words) {
    const element = lab.svg.make("text", { x: px.toFixed(1), y: py.toFixed(1), class: style }, layer);
    element.textContent = words;
    return element;
  }

  /** The places of a grid over the window, about six pixels apart. */
  mesh() {
    const { x, y } = this.bounds;
    const across = Math.min(120, Math.max(60, Math.round(this.width / 6)));
    const up = Math.round((across * this.height) / this.width);
    const spread = (range, count) =>
      Float64Array.from({ length: count }, (_, i) => range[0] + ((range[1] - range[0]) * i) / (count - 1));
    return { xs: spread(x, across), ys: spread(y, up) };
  }

  /** Colour the window: `colour(v, pixels, at)` sets red, green, blue and how solid, up to 255. */
  paint({ xs, ys }, values, colour) {
    const w = xs.length, h = ys.length;
    const canvas = document.createElement("canvas");
    canvas.width = w;
    canvas.height = h;
    const context = canvas.getContext("2d"), image = context.createImageData(w, h);
    for (let r = 0; r < h; r++) {
      for (let q = 0; q < w; q++) colour(values[r * w + q], image.data, 4 * ((h - 1 - r) * w + q));
    }
    context.putImageData(image, 0, 0);
    // The centre of the outer pixels is the edge of the window.
    const dx = this.width / (w - 1), dy = this.height / (h - 1);
    lab.svg.make("image", {
      x: -dx / 2, y: -dy / 2, width: this.width + dx, height: this.height + dy,
      preserveAspectRatio: "none", href: canvas.toDataURL(),
    }, this.field);
  }

  /** The line on which the values have one level, by marching squares. */
  contour({ xs, ys }, values, level, style) {
    const w = xs.length, parts = [];
    const cross = (i, j, x0, y0, x1, y1) => {
      const a = values[i] - level, b = values[j] - level;
      if (a >= 0 === b >= 0) return null;
      const t = a / (a - b);
      return [this.X(x0 + t * (x1 - x0)), this.Y(y0 + t * (y1 - y0))];
    };
    for (let r = 0; r + 1 < ys.length; r++) {
      for (let q = 0; q + 1 < w; q++) {
        const i = r * w + q;
        const cuts = [
          cross(i, i + 1, xs[q], ys[r], xs[q + 1], ys[r]),
          cross(i + 1, i + 1 + w, xs[q + 1], ys[r], xs[q + 1], ys[r + 1]),
          cross(i + w, i + 1 + w, xs[q], ys[r + 1], xs[q + 1], ys[r + 1]),
          cross(i, i + w, xs[q], ys[r], xs[q], ys[r + 1]),
        ].filter(Boolean);
        for (let k = 0; k + 1 < cuts.length; k += 2) {
          const [a, b] = [cuts[k], cuts[k + 1]];
          parts.push(`M${a[0].toFixed(1)} ${a[1].toFixed(1)}L${b[0].toFixed(1)} ${b[1].toFixed(1)}`);
        }
      }
    }
    return lab.svg.make("path", { d: parts.join(""), class: style }, this.lines);
  }

  /** A colour of the page's style as three numbers. */
  static colour(name) {
    const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  }

  /** A colour for each value: one class below zero, the other above, stronger further away. */
  static twoSides() {
    const below = lab.Plot.colour("--g1"), above = lab.Plot.colour("--g0");
    return (v, pixels, at) => {
      const own = v < 0 ? below : above;
      for (let k = 0; k < 3; k++) pixels[at + k] = own[k];
      pixels[at + 3] = 20 + 62 * Math.tanh(Math.abs(v));
    };
  }
};

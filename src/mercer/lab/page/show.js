// ---- one experiment on the page ------------------------------------------------------------------
// An experiment states `start()` (its state), `controls`, `compute(state, before)` (pure), and how
// the result is shown: `draw`, `look`, `describe`, `numbers`, `words`, `formula`, `python`.
lab.Stage = class {
  constructor(experiment, state) {
    const { element, make } = lab.controls;
    this.experiment = experiment;
    this.state = state || experiment.start();
    this.most = experiment.most || 200;
    this.result = null;

    const id = experiment.id;
    this.svg = lab.svg.make("svg", { class: "picture", role: "group", "aria-label": experiment.picture });
    this.plot = new lab.Plot(this.svg, experiment.bounds);
    if (experiment.start().points) this.layer = new lab.PointLayer(this.plot, this);

    if (experiment.turn) this.turn();

    this.controls = experiment.controls.map((spec, i) => make(spec, this, `${id}-${spec.key || "act"}-${i}`));
    const panel = element("div", { class: "controls" }, ...this.controls.map((control) => control.box));
    const save = element("button", { type: "button", class: "save" }, "Save picture (SVG)");
    save.addEventListener("click", () => this.save());
    const again = element("button", { type: "button" }, "Start again");
    again.addEventListener("click", () => {
      this.state = experiment.start();
      this.change();
    });
    panel.append(element("div", { class: "buttons" }, save, again));

    this.verdict = element("p", { class: "verdict" });
    this.spoken = element("p", { class: "hidden", role: "status" });
    this.numbers = element("dl", { class: "numbers" });
    this.formula = element("div", { class: "formula" });
    this.code = element("code");
    const copy = element("button", { type: "button" }, "Copy");
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(this.code.textContent);
        copy.textContent = "Copied";
      } catch {
        // Not every browser lets a page of a file copy: then the lines are marked, one key away.
        getSelection().selectAllChildren(this.code);
        copy.textContent = "Marked";
      }
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    });
    this.box = element("section", { id: `stage-${id}`, "aria-labelledby": `title-${id}` },
      element("h2", { id: `title-${id}`, tabindex: "-1" }, experiment.title),
      element("p", { class: "lead" }, experiment.lead),
      element("div", { class: "bench" },
        element("figure", {}, element("div", { class: "frame" }, this.svg), element("figcaption", {}, experiment.help)),
        element("div", { class: "side" }, panel, this.verdict, this.numbers)),
      this.spoken,
      element("div", { class: "columns" },
        element("div", {}, element("h3", {}, "The mathematics"), this.formula),
        element("div", {}, element("div", { class: "bar" }, element("h3", {}, "The same in Python"), copy),
          element("pre", { tabindex: "0", role: "group", "aria-label": "Python lines" }, this.code))));
    this.watch = new ResizeObserver(() => this.draw());
  }

  /** A drag over the picture turns what is in it; up and down stays with the page on a telephone. */
  turn() {
    this.svg.classList.add("turns");
    this.svg.addEventListener("pointerdown", (event) => {
      const from = { x: event.clientX, y: event.clientY, turn: this.state.turn, tilt: this.state.tilt };
      this.svg.setPointerCapture(event.pointerId);
      const drag = (moved) => {
        const turned = from.turn + (moved.clientX - from.x) / 2;
        this.state.turn = Math.round(((((turned + 180) % 360) + 360) % 360) - 180);
        this.state.tilt = Math.round(Math.min(90, Math.max(0, from.tilt + (moved.clientY - from.y) / 3)));
        this.change();
      };
      const drop = () => {
        this.svg.removeEventListener("pointermove", drag);
        for (const name of ["pointerup", "pointercancel"]) this.svg.removeEventListener(name, drop);
      };
      this.svg.addEventListener("pointermove", drag);
      for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, drop);
    });
  }

  show(host) {
    host.replaceChildren(this.box);
    this.watch.observe(this.svg.parentElement);
    this.now();
  }

  hide() { this.watch.disconnect(); }

  /** Say that the state has changed; the page follows with the next frame. */
  change() {
    this.waiting ||= requestAnimationFrame(() => this.now());
  }

  now() {
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    this.compute();
    this.draw();
    this.tell();
  }

  compute() {
    const begin = performance.now();
    this.result = this.experiment.compute(this.state, this.result);
    this.milliseconds = performance.now() - begin;
  }

  draw() {
    if (!this.result) return;
    this.plot.fit();
    this.plot.clear();
    this.experiment.draw(this.plot, this.state, this.result);
    this.layer?.draw();
  }

  tell() {
    const { experiment, state, result } = this;
    this.controls.forEach((control) => control.show());
    this.verdict.textContent = experiment.words(state, result);
    this.numbers.replaceChildren(...lab.gauges(experiment.numbers(state, result)));
    this.formula.innerHTML = experiment.formula(state, result); // of this file's own words and numbers alone
    this.code.textContent = experiment.python(state, result);
    // Not at every frame: a reader would stammer, and browsers count changes of the address.
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.spoken.textContent = this.verdict.textContent;
      lab.remember(lab.address.write(experiment, this.state));
    }, 250);
  }

  look(i) { return this.experiment.look?.(this.state, this.result, i) || {}; }
  describe(i) {
    const [x, y] = this.state.points[i], more = this.experiment.describe?.(this.state, this.result, i);
    const place = `Point ${i + 1} of ${this.state.points.length} at ${lab.text.plain(x)}, ${lab.text.plain(y)}`;
    return more ? `${place}, ${more}` : place;
  }

  save() {
    const file = new Blob([lab.svg.standalone(this.svg)], { type: "image/svg+xml" });
    const link = lab.controls.element("a", { href: URL.createObjectURL(file), download: `${this.experiment.id}.svg` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
};

/** Rows of points as the Python lists that the lines need. */
lab.python = {
  rows: (points) => `[${points.map(([x, y]) => `[${x}, ${y}]`).join(", ")}]`,
  list: (values) => `[${values.join(", ")}]`,
};

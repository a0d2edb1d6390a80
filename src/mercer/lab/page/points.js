// ---- points that can be added, dragged, moved by keys and removed --------------------------------
lab.PointLayer = class {
  /** `host` has `state.points` (rows of x, y and class), `change()`, `describe(i)` and `most`. */
  constructor(plot, host) {
    this.plot = plot;
    this.host = host;
    this.marks = [];
    this.current = 0; // the one point that Tab stops at; the others are a key away from it
    plot.svg.addEventListener("click", (event) => this.click(event));
  }

  get points() { return this.host.state.points; }

  /** Draw every point again, keeping the elements: one may be in the hand or have the focus. */
  draw() {
    const { plot, points, marks } = this;
    while (marks.length > points.length) marks.pop().remove();
    while (marks.length < points.length) marks.push(this.make(marks.length));
    this.current = Math.max(0, Math.min(this.current, points.length - 1));
    points.forEach(([x, y, kind], i) => {
      const mark = marks[i], look = this.host.look(i);
      mark.setAttribute("transform", `translate(${plot.X(x).toFixed(2)} ${plot.Y(y).toFixed(2)})`);
      mark.setAttribute("class", `point g${kind === 1 ? 0 : kind === -1 ? 1 : 2} ${look.style || ""}`);
      mark.setAttribute("tabindex", i === this.current ? "0" : "-1");
      mark.setAttribute("aria-label", this.host.describe(i));
      // Shape as well as colour says the class.
      mark.children[1].setAttribute("d", kind === -1 ? "M-5.5 -5.5H5.5V5.5H-5.5Z" : "M-6 0A6 6 0 1 1 6 0A6 6 0 1 1 -6 0Z");
      mark.children[2].setAttribute("r", look.ring || 0);
    });
  }

  make(i) {
    const { make } = lab.svg;
    const mark = make("g", { role: "button", "aria-roledescription": "point" }, this.plot.marks);
    make("circle", { r: 15, class: "hit" }, mark); // as large as a finger
    make("path", { class: "shape" }, mark);
    make("circle", { class: "ring" }, mark);
    mark.addEventListener("pointerdown", (event) => this.grab(event, i));
    mark.addEventListener("keydown", (event) => this.key(event, i));
    mark.addEventListener("focus", () => {
      this.current = i;
      this.marks.forEach((other, k) => other.setAttribute("tabindex", k === i ? "0" : "-1"));
    });
    return mark;
  }

  /** Within the window, and on hundredths: what the address holds is what is solved. */
  place([x, y]) {
    const { bounds } = this.plot;
    const into = (v, [low, high]) => Math.round(100 * Math.min(high, Math.max(low, v))) / 100;
    return [into(x, bounds.x), into(y, bounds.y)];
  }

  move(i, place) {
    const { hold } = this.host.experiment;
    const [x, y] = this.place(hold ? [hold(i), place[1]] : place);
    if (this.points[i][0] === x && this.points[i][1] === y) return;
    this.points[i] = [x, y, this.points[i][2]];
    this.host.change();
  }

  grab(event, i) {
    if (event.button !== 0) return;
    event.preventDefault();
    const mark = this.marks[i];
    mark.focus({ preventScroll: true });
    if (this.host.state.tool === "remove") return;
    mark.setPointerCapture(event.pointerId);
    mark.classList.add("held");
    const drag = (moved) => this.move(i, this.plot.at(moved));
    const drop = () => {
      mark.classList.remove("held");
      mark.removeEventListener("pointermove", drag);
      for (const name of ["pointerup", "pointercancel"]) mark.removeEventListener(name, drop);
    };
    mark.addEventListener("pointermove", drag);
    for (const name of ["pointerup", "pointercancel"]) mark.addEventListener(name, drop);
  }

  click(event) {
    if (this.host.experiment.fixed) return;
    const mark = event.target.closest(".point"), { tool } = this.host.state;
    if (mark) {
      if (tool === "remove") this.remove(this.marks.indexOf(mark));
    } else if (tool !== "remove") {
      this.add(this.plot.at(event), Number(tool) || 0);
    }
  }

  add(place, kind) {
    if (this.points.length >= this.host.most) return;
    this.points.push([...this.place(place), kind]);
    this.current = this.points.length - 1;
    this.host.change();
  }

  remove(i) {
    this.points.splice(i, 1);
    this.host.change();
  }

  key(event, i) {
    const step = event.shiftKey ? 0.01 : 0.1, [x, y, kind] = this.points[i];
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const focus = (k) => this.marks[(k + this.marks.length) % this.marks.length]?.focus();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in ways) {
      const [dx, dy] = ways[event.key];
      this.move(i, [x + step * dx, y + step * dy]);
    } else if (event.key === "PageDown") focus(i + 1);
    else if (event.key === "PageUp") focus(i - 1);
    else if (this.host.experiment.fixed) return;
    else if (event.key === "Insert" || event.key === "+") {
      this.add([x + 0.3, y + 0.3], kind);
      this.host.now();
      focus(this.current);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.remove(i);
      this.host.now();
      focus(Math.max(0, i - 1));
    } else if (event.key === " " && kind) {
      this.points[i] = [x, y, -kind];
      this.host.change();
    } else return;
    event.preventDefault();
  }
};

/** What hands and keys can do with the points, said below each picture. */
lab.keys = (classes) => "Drag a point, or click to add one. Keys: Tab to the points, arrows move (Shift: finely), "
  + `Page Down and Page Up go to the next and the previous one, ${classes > 1 ? "Space changes the class, " : ""}+ adds, Delete removes.`;

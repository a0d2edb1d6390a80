"use strict";
// Everything is on the page without this script; it adds tips, sorting and the choice of a row.
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  document.documentElement.classList.add("js");

  // ---- tips: the titles of marks, for mouse and keyboard ---------------------------------------
  const tip = document.getElementById("tip");

  function show(mark) {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const left = box.left + box.width / 2 - own.width / 2;
    const above = box.top - own.height - 10;
    tip.style.left = Math.max(8, Math.min(left, innerWidth - own.width - 8)) + "px";
    tip.style.top = (above > 8 ? above : box.bottom + 10) + "px";
  }

  function hide() {
    tip.hidden = true;
  }

  for (const chart of all("svg.chart")) {
    const marks = all(".mark", chart);
    if (!marks.length) continue;
    chart.setAttribute("role", "group");
    const columns = Number(chart.dataset.columns) || 1;
    marks.forEach((mark, i) => {
      const title = mark.querySelector("title");
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
      mark.setAttribute("role", mark.dataset.point ? "button" : "img");
      mark.setAttribute("tabindex", i ? "-1" : "0");
      mark.addEventListener("pointerenter", () => show(mark));
      mark.addEventListener("pointerleave", hide);
      mark.addEventListener("focus", () => show(mark));
      mark.addEventListener("blur", hide);
      mark.addEventListener("keydown", (event) => {
        const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
        if (event.key === "Escape") hide();
        let next = event.key in steps ? i + steps[event.key] : -1;
        if (event.key === "Home") next = 0;
        if (event.key === "End") next = marks.length - 1;
        if (next < 0 || next >= marks.length) return;
        event.preventDefault();
        mark.setAttribute("tabindex", "-1");
        marks[next].setAttribute("tabindex", "0");
        marks[next].focus();
      });
    });
  }
  addEventListener("scroll", hide, { passive: true });

  // ---- tables that sort --------------------------------------------------------------------------
  const words = new Intl.Collator(undefined, { numeric: true });

  function key(row, column) {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    if (value === undefined) return cell.textContent.trim();
    return value === "" || Number.isNaN(Number(value)) ? null : Number(value);
  }

  function compare(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" ? a - b : words.compare(a, b);
  }

  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      if (head.querySelector(".hidden")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = Array.from(table.tBodies[0].rows);
        const sorted = rows.map((row) => [key(row, column), row]);
        sorted.sort((a, b) => {
          const missing = a[0] === null || b[0] === null;
          return compare(a[0], b[0]) * (down && !missing ? -1 : 1);
        });
        table.tBodies[0].append(...sorted.map((entry) => entry[1]));
      });
    });
  }

  // ---- one test row at a time --------------------------------------------------------------------
  const panels = all("#panels .point");
  const picker = document.getElementById("picker");
  if (!picker) return;
  const rows = all("#choices tbody tr");
  const points = all(".map [data-point]");

  function choose(point) {
    const wanted = String(point);
    panels.forEach((panel) => (panel.open = panel.dataset.point === wanted));
    picker.value = wanted;
    points.forEach((mark) => {
      mark.classList.toggle("picked", mark.dataset.point === wanted);
      mark.setAttribute("aria-pressed", String(mark.dataset.point === wanted));
    });
    rows.forEach((row) => {
      row.classList.toggle("chosen", row.dataset.point === wanted);
      const link = row.querySelector("a");
      if (row.dataset.point === wanted) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  }

  function step(by) {
    const order = Array.from(document.querySelectorAll("#choices tbody tr"), (row) => row.dataset.point);
    const at = order.indexOf(picker.value) + by;
    choose(order[(at + order.length) % order.length]);
  }

  picker.addEventListener("change", () => choose(picker.value));
  document.getElementById("previous").addEventListener("click", () => step(-1));
  document.getElementById("next").addEventListener("click", () => step(1));
  for (const row of rows) {
    row.addEventListener("click", (event) => {
      event.preventDefault();
      choose(row.dataset.point);
    });
  }
  for (const mark of points) {
    mark.addEventListener("click", () => choose(mark.dataset.point));
    mark.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(mark.dataset.point);
    });
  }
  for (const panel of panels) {
    // The choice opens and closes panels; their own headings do not.
    panel.querySelector("summary").tabIndex = -1;
    panel.querySelector("summary").addEventListener("click", (event) => event.preventDefault());
  }
  choose(picker.value);
})();

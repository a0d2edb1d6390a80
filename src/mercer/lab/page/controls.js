// ---- words for numbers ---------------------------------------------------------------------------
lab.text = (() => {
  const raise = (n) => String(n).replace("-", "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  const minus = (text) => text.replace("-", "−");

  /** Four digits, and powers of ten where the number is far from one. */
  function number(v, digits = 4) {
    if (v === Infinity) return "∞";
    if (!Number.isFinite(v)) return "–";
    if (v === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(v)));
    if (size >= -3 && size < 6) return minus(String(Number(v.toPrecision(digits))));
    const [base, power] = v.toExponential(1).split("e");
    return `${minus(base)}·10${raise(Number(power))}`;
  }

  const plain = (v) => minus(String(v));
  return { number, plain };
})();

// ---- controls: labelled, reached by keys, one state behind them ----------------------------------
lab.controls = (() => {
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === true) made.setAttribute(key, "");
      else if (value !== false) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  /** A slider, on a scale of tens where `log` is set; three digits, as the address holds them. */
  function slider(spec, host, id) {
    const { key, label, low, high, log, step } = spec;
    const scale = (v) => (log ? Math.log10(v) : v);
    const input = element("input", {
      type: "range", id, min: scale(low), max: scale(high), step: log ? 0.01 : step,
    });
    const shown = element("output", { for: id });
    const value = () => {
      const v = Number(input.value);
      return log ? Number((10 ** v).toPrecision(3)) : Number(v.toFixed(4));
    };
    input.addEventListener("input", () => {
      host.state[key] = value();
      host.change();
    });
    const show = () => {
      const v = spec.value ? spec.value(host.state, host.result) : host.state[key];
      if (spec.most) input.max = spec.most(host.state, host.result);
      input.value = scale(v);
      shown.textContent = lab.text.number(v, 3);
      input.setAttribute("aria-valuetext", shown.textContent);
      box.hidden = spec.when ? !spec.when(host.state) : false;
    };
    const box = element("div", { class: "control" }, element("label", { for: id }, label), shown, input);
    return { box, show };
  }

  function choice(spec, host, id) {
    const select = element("select", { id });
    for (const [value, words] of spec.options) select.append(element("option", { value }, words));
    select.addEventListener("change", () => {
      host.state[spec.key] = select.value;
      if (spec.then) spec.then(host.state);
      host.change();
    });
    const box = element("div", { class: "control" }, element("label", { for: id }, spec.label), select);
    const show = () => {
      select.value = host.state[spec.key];
      box.hidden = spec.when ? !spec.when(host.state) : false;
    };
    return { box, show };
  }

  /** A few choices side by side. */
  function radios(spec, host, id) {
    const box = element("fieldset", { class: "control radios" }, element("legend", {}, spec.label));
    const inputs = spec.options.map(([value, words], i) => {
      const input = element("input", { type: "radio", name: id, id: `${id}-${i}`, value });
      input.addEventListener("change", () => {
        host.state[spec.key] = value;
        host.change();
      });
      box.append(element("span", {}, input, element("label", { for: input.id }, words)));
      return input;
    });
    const show = () => {
      inputs.forEach((input) => { input.checked = input.value === String(host.state[spec.key]); });
      box.hidden = spec.when ? !spec.when(host.state) : false;
    };
    return { box, show };
  }

  function tick(spec, host, id) {
    const input = element("input", { type: "checkbox", id });
    input.addEventListener("change", () => {
      host.state[spec.key] = input.checked;
      host.change();
    });
    const box = element("div", { class: "control tick" }, input, element("label", { for: id }, spec.label));
    return { box, show: () => {
      input.checked = host.state[spec.key];
      box.hidden = spec.when ? !spec.when(host.state) : false;
    } };
  }

  function text(spec, host, id) {
    const input = element("input", { type: "text", id, maxlength: spec.longest, autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      host.state[spec.key] = input.value;
      host.change();
    });
    const box = element("div", { class: "control" }, element("label", { for: id }, spec.label), input);
    // What is being typed is left alone.
    return { box, show: () => { if (input.value !== host.state[spec.key]) input.value = host.state[spec.key]; } };
  }

  /** Buttons that change the state, such as one step more. */
  function buttons(spec, host) {
    const box = element("div", { class: "buttons" });
    for (const [words, act] of spec.options) {
      const button = element("button", { type: "button" }, words);
      button.addEventListener("click", () => {
        act(host.state, host.result);
        host.change();
      });
      box.append(button);
    }
    return { box, show: () => { box.hidden = spec.when ? !spec.when(host.state) : false; } };
  }

  const KINDS = { slider, choice, radios, tick, text, buttons };
  return { element, make: (spec, host, id) => KINDS[spec.kind](spec, host, id) };
})();

// ---- gauges: a number, and for a residual how many digits are right ------------------------------
lab.gauges = (list) => {
  const { element } = lab.controls;
  return list.map(({ name, value, text, residual, hint, key, swatch }) => {
    const shown = element("dd", { "data-key": key || name, "data-value": String(value) }, text ?? lab.text.number(value));
    const box = element("div", { class: residual ? "gauge residual" : "gauge" }, element("dt", swatch ? { class: `swatch ${swatch}` } : {}, name), shown);
    if (hint) box.append(element("dd", { class: "hint" }, hint));
    if (residual) {
      // From 1 on the left to 10⁻¹⁶, the rounding of a double, on the right.
      const digits = Math.min(16, Math.max(0, -Math.log10(Math.max(Math.abs(value), 1e-16))));
      const bar = lab.svg.make("svg", { viewBox: "0 0 160 6", preserveAspectRatio: "none", "aria-hidden": "true" });
      lab.svg.make("rect", { width: 160, height: 6, class: "trough" }, bar);
      lab.svg.make("rect", { width: 10 * digits, height: 6, class: digits >= 6 ? "full" : "short" }, bar);
      lab.svg.make("rect", { x: 59.5, width: 1, height: 6, class: "goal" }, bar);
      shown.append(bar); // a list of terms may hold terms and their values alone
    }
    return box;
  });
};

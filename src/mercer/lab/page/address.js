// ---- the state in the address: a link shows the same picture -------------------------------------
lab.address = (() => {
  const encode = (value) => {
    if (!Array.isArray(value)) return String(value);
    return value.map((row) => row.map((v, i) => (i < 2 ? Math.round(100 * v) : v)).join(",")).join(";");
  };

  /** Read a value as the kind that the start has; what makes no sense is as if it were not there. */
  function decode(text, start, spec, fixed) {
    if (typeof start === "boolean") return text === "true";
    if (typeof start === "number") {
      const v = Number(text);
      const within = text !== "" && v >= (spec?.low ?? -Infinity) && v <= (spec?.high ?? Infinity);
      return within ? v : start;
    }
    if (typeof start === "string") {
      const options = spec?.options?.map((option) => option[0]);
      if (spec?.longest) return text.slice(0, spec.longest);
      return !options || options.includes(text) ? text : start;
    }
    const rows = text === "" ? [] : text.split(";").map((row) => row.split(",").map(Number));
    const fine = rows.length <= 200 && (!fixed || rows.length === start.length) && rows.every((row) =>
      row.length === 3 && row.every(Number.isFinite) && [-1, 0, 1].includes(row[2])
      && Math.abs(row[0]) <= 2000 && Math.abs(row[1]) <= 2000);
    return fine ? rows.map(([x, y, kind]) => [x / 100, y / 100, kind]) : start;
  }

  /** `#name?key=value&…`, with only what differs from the start. */
  function write(experiment, state) {
    const start = experiment.start(), pairs = [];
    // A choice may bring its own points: then its name says it all.
    for (const spec of experiment.controls) {
      if (!spec.then || state[spec.key] === start[spec.key]) continue;
      pairs.push(`${spec.key}=${state[spec.key]}`);
      start[spec.key] = state[spec.key];
      spec.then(start);
    }
    for (const [key, value] of Object.entries(state)) {
      if (encode(value) !== encode(start[key])) pairs.push(`${key}=${encodeURIComponent(encode(value)).replaceAll("%2C", ",").replaceAll("%3B", ";")}`);
    }
    return `#${experiment.id}${pairs.length ? `?${pairs.join("&")}` : ""}`;
  }

  function read(hash) {
    const [id, query = ""] = hash.replace(/^#/, "").split("?");
    const experiment = lab.experiments.find((one) => one.id === id);
    if (!experiment) return null;
    const state = experiment.start(), given = new URLSearchParams(query);
    for (const spec of experiment.controls) {
      if (!spec.then || !given.has(spec.key)) continue;
      state[spec.key] = decode(given.get(spec.key), state[spec.key], spec);
      spec.then(state);
    }
    for (const [key, text] of given) {
      const spec = experiment.controls.find((one) => one.key === key);
      if (key in state) state[key] = decode(text, state[key], spec, experiment.fixed);
    }
    return { experiment, state };
  }

  return { write, read };
})();

// ---- the page: one experiment at a time, by the address ------------------------------------------
(() => {
  const { element } = lab.controls;
  const host = document.getElementById("stage"), list = document.getElementById("experiments");
  const stages = new Map();
  let shown = null;

  for (const experiment of lab.experiments) {
    list.append(element("li", {}, element("a", { href: `#${experiment.id}` }, experiment.name)));
  }

  /** Keep the address in step without a new entry in the history. */
  lab.remember = (hash) => {
    const last = shown && hash.startsWith(`#${shown.experiment.id}`);
    if (last && hash !== location.hash) history.replaceState(null, "", hash);
  };

  function open(given) {
    const found = lab.address.read(given) || { experiment: lab.experiments[0], state: null };
    const { id } = found.experiment, asked = given.includes("?");
    // A bare name comes back to the experiment as it was left; a whole address sets it.
    let stage = stages.get(id);
    if (!stage) {
      stage = new lab.Stage(found.experiment, found.state);
      stages.set(id, stage);
    } else if (asked) stage.state = found.state;
    const moved = shown && shown !== stage;
    if (moved) shown.hide();
    if (shown !== stage) {
      shown = stage;
      lab.stage = stage;
      stage.show(host);
    } else stage.now();
    for (const link of list.querySelectorAll("a")) {
      if (link.hash === `#${id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${found.experiment.name} – mercer lab`;
    if (moved) host.querySelector("h2").focus({ preventScroll: true });
  }

  document.documentElement.classList.add("js");
  addEventListener("hashchange", () => {
    if (lab.address.read(location.hash)) open(location.hash);
  });
  // The address belongs to the experiments, so this link moves the focus alone.
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    host.querySelector("h2").focus();
  });
  // Fields are painted with the colours of the page, which may change while it is open.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown.draw());
  open(location.hash);
})();

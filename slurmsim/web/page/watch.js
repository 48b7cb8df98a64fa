// The page of a live cluster: what the server tells of it as it happens, and what may be done to it.
"use strict";
(() => {
  const { number, duration, plural, numberTest, element, css, onlyRows } = Page;
  const byId = (id) => document.getElementById(id);
  const state = { jobs: new Map(), nodes: new Map(), past: [], clock: null, columns: [], node_columns: [], names: [],
    partitions: [], shares: [], faults: [], reservations: [], may_change: false };
  const MOST_PAST = 5000;
  let heard = 0; // when the clock was told, by the browser's own

  // ---- time --------------------------------------------------------------------------------------------------------

  function now() {
    const clock = state.clock;
    if (!clock) return 0;
    const gone = (performance.now() - heard) / 1000;
    return clock.mode === "real" ? clock.exact + gone : clock.mode === "running" ? clock.exact + gone * clock.rate : clock.now;
  }
  const two = (n) => String(n).padStart(2, "0");
  /** An instant as the commands print it: of this machine's time zone. */
  function moment(t) {
    if (!t) return "–";
    const at = new Date(t * 1000);
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  }
  const short = (t) => moment(t).slice(5, 16);
  const MODES = { real: "the machine's time", frozen: "frozen", fast: "from event to event" };
  function showClock() {
    if (!state.clock) return;
    byId("now").textContent = moment(now());
    byId("mode").textContent = MODES[state.clock.mode] ?? `${number(state.clock.rate)} seconds a second`;
  }
  setInterval(showClock, 500);

  // ---- what the server tells -----------------------------------------------------------------------------------------

  const objects = (columns, rows) => rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
  const PAST = ["key", "job", "name", "user", "account", "partition", "state", "start", "end", "places"];
  function take(message) {
    if (message.away) {
      byId("away").hidden = false;
      byId("away").textContent = `The cluster does not answer: ${message.away}`;
      return;
    }
    byId("away").hidden = true;
    if (message.all) {
      Object.assign(state, { jobs: new Map(), nodes: new Map(), past: [] });
      for (const name of ["columns", "node_columns", "may_change"]) state[name] = message[name];
      byId("cluster").textContent = message.cluster;
      document.title = `${message.cluster}: slurmsim`;
      byId("about").textContent = `Slurm ${message.version} on ${message.host}${message.may_change ? "" : "; this page only watches"}`;
      for (const one of document.querySelectorAll(".control")) one.hidden = !message.may_change;
    }
    state.clock = message.clock;
    heard = performance.now();
    for (const name of ["partitions", "shares", "faults", "reservations"]) if (name in message) state[name] = message[name];
    for (const key of message.jobs?.gone ?? []) state.jobs.delete(key);
    for (const job of objects(state.columns, message.jobs?.set ?? [])) state.jobs.set(job.key, job);
    for (const name of message.nodes?.gone ?? []) state.nodes.delete(name);
    for (const node of objects(state.node_columns, message.nodes?.set ?? [])) state.nodes.set(node.name, node);
    state.names = [...state.nodes.keys()];
    state.past = [...state.past, ...objects(PAST, message.past ?? [])].slice(-MOST_PAST);
    changed();
  }
  let due = false;
  function changed() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      showClock();
      showTiles();
      SHOW[selected]?.();
      if (open !== null) showFacts();
      document.documentElement.dataset.ready = "yes";
    });
  }
  const source = new EventSource("events");
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.onerror = () => { byId("away").hidden = false; byId("away").textContent = "The page's server does not answer."; };

  // ---- tiles and tabs --------------------------------------------------------------------------------------------------

  function showTiles() {
    const jobs = [...state.jobs.values()], nodes = [...state.nodes.values()];
    const count = (word) => jobs.filter((job) => job.state.startsWith(word)).length;
    const cpus = nodes.reduce((sum, node) => sum + node.cpus, 0), used = nodes.reduce((sum, node) => sum + node.alloc_cpus, 0);
    const states = nodes.map(Picture.stateOf);
    const out = states.filter((one) => one === "DOWN" || one === "DRAIN" || one === "OTHER").length;
    byId("tiles").replaceChildren(...[
      ["running", number(count("RUNNING"))], ["waiting", number(count("PENDING"))],
      ["CPUs in use", `${number(used)} of ${number(cpus)}`], ["nodes idle", `${number(states.filter((one) => one === "IDLE").length)} of ${number(nodes.length)}`],
      ["nodes down or drained", number(out)], ["faults switched on", number(state.faults.length)],
    ].map(([name, value]) => element("div", { className: "tile" }, element("b", {}, value), element("span", {}, name))));
  }
  const tabs = [...document.querySelectorAll("[role=tab]")];
  let selected = "queue";
  function select(tab) {
    for (const one of tabs) {
      one.setAttribute("aria-selected", String(one === tab));
      one.tabIndex = one === tab ? 0 : -1;
      byId(one.getAttribute("aria-controls")).hidden = one !== tab;
    }
    selected = tab.getAttribute("aria-controls");
    SHOW[selected]?.();
  }
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const next = tabs[(i + by + tabs.length) % tabs.length];
      next.focus();
      select(next);
    });
  });

  // ---- tables --------------------------------------------------------------------------------------------------------------

  /** Rows that pass the filters, in the table's order; `fields` say what is a text and what a number. */
  function chosen(rows, fields, { filter = [], sort = [] }) {
    const of = Object.fromEntries(fields.map((f) => [f.field, f]));
    const tests = filter.flatMap(({ field, value }) => {
      const f = of[field], wanted = String(value ?? "").trim();
      if (!wanted || !f) return [];
      if (f.number) { const test = numberTest(wanted); return [(row) => test !== null && test(row[field] ?? -1)]; }
      const needle = wanted.replace(/^=/, "").toLowerCase();
      const read = (row) => String(f.show ? f.show(row) : row[field] ?? "").toLowerCase();
      return [wanted.startsWith("=") ? (row) => read(row) === needle : (row) => read(row).includes(needle)];
    });
    const found = rows.filter((row) => tests.every((test) => test(row)));
    for (const { field, dir } of [...sort].reverse()) {
      const sign = dir === "desc" ? -1 : 1;
      found.sort((a, b) => { const [x, y] = [a[field] ?? -1, b[field] ?? -1]; return sign * (x < y ? -1 : x > y ? 1 : 0); });
    }
    return found;
  }
  function table(place, rows, fields, { sort, clicked, told = () => {} }) {
    const page = (params) => {
      const found = chosen(rows(), fields, params), from = (params.page - 1) * params.size;
      told(found.length);
      return Promise.resolve({ last_page: Math.max(1, Math.ceil(found.length / params.size)), last_row: found.length,
        data: found.slice(from, from + params.size) });
    };
    const made = new Tabulator(place, {
      ajaxURL: "rows", ajaxRequestFunc: (url, config, params) => page(params), // no request: rows are here
      pagination: true, paginationMode: "remote", paginationSize: 25, paginationSizeSelector: [25, 100, 500],
      filterMode: "remote", sortMode: "remote", paginationCounter: "rows", layout: "fitDataStretch", placeholder: "Nothing to show.",
      columnDefaults: { resizable: "header", headerFilter: "input", headerFilterLiveFilter: true, tooltip: false },
      initialSort: sort, dataLoader: false,
      columns: fields.map((f) => ({
        field: f.field, title: f.title ?? f.field, width: f.width, hozAlign: f.number ? "right" : "left", headerHozAlign: f.number ? "right" : "left",
        headerFilterParams: { elementAttributes: { "aria-label": `filter by ${f.title ?? f.field}` } },
        formatter: (cell) => {
          const row = cell.getRow().getData(), shown = f.show ? f.show(row) : String(row[f.field] ?? "");
          if (!f.link) { cell.getElement().title = shown; return document.createTextNode(shown); }
          const button = element("button", { type: "button", className: "link", "aria-label": `show ${shown}` }, shown);
          button.addEventListener("click", (event) => { event.stopPropagation(); clicked(row); });
          return button;
        },
      })),
    });
    made.on("rowClick", (event, row) => clicked(row.getData()));
    made.on("tableBuilt", () => onlyRows(made));
    return made;
  }
  const since = (t) => duration(Math.max(0, now() - t));
  const JOB_FIELDS = [
    { field: "key", title: "job", link: true, width: 110, show: (job) => job.job }, { field: "name", width: 130 }, { field: "user", width: 100 },
    { field: "account", width: 100 }, { field: "partition", width: 100 }, { field: "state", width: 170 }, { field: "reason", width: 190 },
    { field: "nodes", number: true, width: 84 }, { field: "cpus", title: "CPUs", number: true, width: 84 },
    { field: "priority", number: true, width: 96 }, { field: "limit_s", title: "limit", number: true, width: 90, show: (job) => job.limit_s === null ? "none" : duration(job.limit_s) },
    { field: "submit", title: "submitted", width: 158, show: (job) => moment(job.submit) },
    { field: "start", title: "start", width: 170, show: (job) => job.start ? `${moment(job.start)}${job.state.startsWith("PENDING") ? " ?" : ""}` : "–" },
    { field: "on", title: "on", width: 140 },
  ];
  let jobsTable = null, nodesTable = null;
  function showQueue() {
    if (jobsTable) { jobsTable.replaceData(); return; }
    jobsTable = table("#jobs-table", () => [...state.jobs.values()], JOB_FIELDS, {
      sort: [{ column: "key", dir: "desc" }], clicked: (job) => showJob(job.key),
      told: (n) => { byId("count").textContent = `${number(n)} of ${plural(state.jobs.size, "job")}`; },
    });
    byId("clear").addEventListener("click", () => jobsTable.clearHeaderFilter());
  }

  // ---- the plan --------------------------------------------------------------------------------------------------------------

  let middle = null, seen = [];
  function showPlan() {
    const span = Number(byId("span").value), by = byId("color").value;
    if (byId("follow").checked || middle === null) middle = now();
    const [t0, t1] = [middle - span / 2, middle + span / 2];
    const bars = state.past.map((job) => ({ key: job.key, places: job.places, start: job.start, end: job.end, limit: 0, color: Picture.colorOf(job[by]) }));
    for (const job of state.jobs.values()) {
      if (!job.start || !job.places.length) continue;
      const waits = job.state.startsWith("PENDING"), runs = !waits && (!job.end || job.end > now());
      const limit = job.limit_s === null ? 0 : job.start + job.limit_s;
      bars.push({ key: job.key, places: job.places, start: job.start, planned: waits, color: Picture.colorOf(job[by]),
        end: waits ? limit || t1 : runs ? now() : job.end, limit: runs ? limit : 0 });
    }
    seen = Picture.plan(byId("plan"), state.names, bars, t0, t1, now(), short);
    byId("shown").textContent = `${moment(t0)} to ${moment(t1)}`;
  }
  for (const id of ["span", "color", "follow"]) byId(id).addEventListener("change", showPlan);
  for (const [id, sign] of [["earlier", -1], ["later", 1]]) {
    byId(id).addEventListener("click", () => { byId("follow").checked = false; middle += sign * Number(byId("span").value) / 2; showPlan(); });
  }
  const jobAt = (event) => seen.findLast((one) => event.offsetX >= one.x0 && event.offsetX <= one.x1 && event.offsetY >= one.y0 && event.offsetY <= one.y1)?.key ?? null;
  const known = (key) => state.jobs.get(key) ?? state.past.findLast((job) => job.key === key);
  function tip(event, lines) {
    const place = byId("tip");
    place.hidden = !lines;
    if (!lines) return;
    place.replaceChildren(...lines.map((line, i) => element(i ? "div" : "b", {}, line)));
    place.style.left = `${Math.min(event.clientX + 14, innerWidth - place.offsetWidth - 8)}px`;
    place.style.top = `${Math.min(event.clientY + 16, innerHeight - place.offsetHeight - 8)}px`;
  }
  byId("plan").addEventListener("mousemove", (event) => {
    const job = known(jobAt(event));
    tip(event, job && [`Job ${job.job} ${job.name}`, `${job.user}, ${job.partition}`, job.state, `${moment(job.start)}`]);
  });
  byId("plan").addEventListener("click", (event) => { const key = jobAt(event); if (key !== null) showJob(key); });

  // ---- nodes -----------------------------------------------------------------------------------------------------------------

  let nodeAt = () => null;
  const NODE_FIELDS = [
    { field: "name", link: true, width: 130 }, { field: "state", width: 120, show: (node) => [node.state, ...[node.state_flags ?? []].flat()].filter(Boolean).join("+") },
    { field: "alloc_cpus", title: "CPUs used", number: true, width: 110 }, { field: "cpus", title: "CPUs", number: true, width: 90 },
    { field: "alloc_memory", title: "memory used", number: true, width: 130 }, { field: "real_memory", title: "memory, MiB", number: true, width: 130 },
    { field: "gres", title: "GRES", width: 110 }, { field: "partitions", width: 140, show: (node) => [node.partitions ?? []].flat().join(",") },
    { field: "reason", width: 200 },
  ];
  function showNodes() {
    const nodes = [...state.nodes.values()], counts = new Map();
    for (const node of nodes) { const one = Picture.stateOf(node); counts.set(one, (counts.get(one) ?? 0) + 1); }
    byId("node-legend").replaceChildren(...Object.entries(Picture.STATES).filter(([name]) => counts.has(name)).map(([name, color]) => {
      const swatch = element("span", { className: "swatch", "aria-hidden": "true" });
      swatch.style.background = color;
      return element("li", {}, swatch, `${name.toLowerCase()} ${number(counts.get(name))}`);
    }));
    nodeAt = Picture.grid(byId("grid"), nodes);
    if (nodesTable) nodesTable.replaceData();
    else nodesTable = table("#nodes-table", () => [...state.nodes.values()], NODE_FIELDS, { sort: [], clicked: (node) => showNode(node.name) });
  }
  byId("grid").addEventListener("mousemove", (event) => {
    const node = nodeAt(event.offsetX, event.offsetY);
    tip(event, node && [node.name, NODE_FIELDS[1].show(node), `${node.alloc_cpus} of ${plural(node.cpus, "CPU")}`, ...(node.reason ? [node.reason] : [])]);
  });
  byId("grid").addEventListener("click", (event) => { const node = nodeAt(event.offsetX, event.offsetY); if (node) showNode(node.name); });
  for (const id of ["plan", "grid"]) byId(id).addEventListener("mouseleave", (event) => tip(event, null));

  // ---- small tables ------------------------------------------------------------------------------------------------------------

  function plain(place, what, header, rows, left = 1) {
    const cell = (tag, value, i) => element(tag, { className: i < left ? "l" : "", ...(tag === "th" ? { scope: "col" } : {}) }, value instanceof Node ? value : String(value ?? "–"));
    const made = element("table", {}, element("thead", {}, element("tr", {}, ...header.map((one, i) => cell("th", one, i)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((one, i) => cell("td", one, i))))));
    place.replaceChildren(rows.length ? element("div", { className: "card", role: "group", tabIndex: 0, "aria-label": what }, made) : element("p", { className: "muted" }, "None."));
  }
  function showPartitions() {
    const jobs = [...state.jobs.values()];
    const count = (name, word) => number(jobs.filter((job) => job.state.startsWith(word) && job.partition.split(",").includes(name)).length);
    plain(byId("partitions-body"), "Partitions", ["partition", "state", "nodes", "time limit", "tier", "running", "waiting", "nodes", "CPUs"], state.partitions.map(
      ([name, standard, up, nodes, n_nodes, n_cpus, limit, tier]) => [standard ? `${name}*` : name, up, nodes, limit === null ? "none" : duration(limit * 60), tier,
        count(name, "RUNNING"), count(name, "PENDING"), number(n_nodes), number(n_cpus)]), 3);
    if (!state.reservations.length) return;
    const place = element("div");
    byId("partitions-body").append(element("h2", {}, "Reservations"), place);
    plain(place, "Reservations", ["reservation", "from", "to", "nodes", "users", "accounts"], state.reservations.map(
      ([name, start, end, nodes, users, accounts]) => [name, moment(start), moment(end), nodes, users, accounts]), 6);
  }
  function showShares() {
    const digits = (v) => v === null || v === undefined ? "–" : number(v, 6);
    plain(byId("shares-body"), "Fair share", ["account", "user", "shares", "normalised", "CPU seconds used", "effective use", "factor"], state.shares.map(
      ([account, user, shares, norm, usage, effective, factor]) => [account, user ?? "", shares ?? "–", digits(norm), number(usage ?? 0), digits(effective), user ? digits(factor) : "–"]), 2);
  }
  function showFaults() {
    plain(byId("faults-body"), "Faults", ["fault", "settings", "met", "seen", ...(state.may_change ? ["change"] : [])], state.faults.map((rule) => {
      const said = ["command", "user", "job", "every", "probability", "times"].filter((name) => ![null, undefined, "", "*", 1].includes(rule[name]))
        .map((name) => `${name}=${rule[name]}`).concat(Object.entries(rule.parameters).filter(([, v]) => v !== "" && v !== null).map(([name, v]) => `${name}=${Array.isArray(v) ? v.slice(1).join(":") : v}`));
      const end = state.may_change ? element("button", { type: "button", "aria-label": `Switch off fault ${rule.id}` }, "Switch off") : null;
      end?.addEventListener("click", () => act("end_fault", { id: rule.id }));
      return [rule.what, said.join(" "), number(rule.met), number(rule.seen), ...(end ? [end] : [])];
    }), 2);
  }
  const SHOW = { queue: showQueue, "gantt-tab": showPlan, nodes: showNodes, partitions: showPartitions, shares: showShares, faults: showFaults };

  // ---- a job, a node -------------------------------------------------------------------------------------------------------------

  let open = null; // what the panel shows: makes its facts
  const facts = (pairs) => element("dl", {}, ...pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined)
    .flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));
  function showFacts() { const place = byId("facts"); if (place && open) place.replaceChildren(open()); }
  function panel(title, made, ...more) {
    open = made;
    byId("tip").hidden = true;
    byId("job-title").textContent = title;
    byId("job-body").replaceChildren(element("div", { id: "facts" }), ...more);
    showFacts();
    byId("job").hidden = false;
    byId("job-close").focus({ preventScroll: true });
  }
  function showJob(key) {
    const job = known(key);
    if (!job) return;
    const place = element("div", { id: "why", "aria-live": "polite" });
    panel(`Job ${job.job}${job.name ? ` (${job.name})` : ""}`, () => {
      const one = known(key) ?? job, waits = one.state.startsWith("PENDING");
      return facts([["state", one.state], ["reason", one.reason], ["user", one.user], ["account", one.account], ["partition", one.partition], ["QOS", one.qos],
        ["size", "nodes" in one ? `${plural(one.nodes, "node")}, ${plural(one.cpus, "CPU")}` : ""], ["asks for", one.tres], ["limit", one.limit_s === undefined ? "" : one.limit_s === null ? "none" : duration(one.limit_s)],
        ["submitted", one.submit ? `${moment(one.submit)} (${since(one.submit)} ago)` : ""], [waits ? "planned start" : "start", one.start ? moment(one.start) : ""],
        ["end", one.end ? moment(one.end) : ""], ["on", one.on], ["priority", one.priority === undefined ? "" : number(one.priority)], ["dependency", one.dependency],
        ["requeued", one.restarts ? `${one.restarts} times` : ""], ["folder", one.folder], ["comment", one.comment]]);
    }, element("h3", {}, "Why"), place);
    if (job.state.startsWith("PENDING")) tellWhy(job, place); else place.replaceChildren(element("p", { className: "muted" }, "It does not wait."));
  }
  async function tellWhy(job, place) {
    place.replaceChildren(element("p", { className: "muted" }, "Looking; of a long queue that takes some seconds."));
    let told;
    try { told = await (await fetch(`why?job=${encodeURIComponent(job.job.replace(/_\[.*$/, ""))}`)).json(); }
    catch (error) { told = { error: String(error) }; }
    if (told.error) { place.replaceChildren(element("p", {}, told.error)); return; }
    const parts = told.lines.slice(1).map((line) => element("p", {}, line));
    place.replaceChildren(...parts);
  }
  function showNode(name) {
    const more = [];
    if (state.may_change) {
      const button = (text, action) => { const made = element("button", { type: "button" }, text); made.addEventListener("click", () => act("node_action", { action, nodes: name })); return made; };
      more.push(element("div", { className: "toolbar" }, button("Fail", "fail"), button("Drain", "drain"), button("Resume", "resume")));
    }
    const jobs = () => [...state.jobs.values()].filter((job) => !job.state.startsWith("PENDING") && !(job.end && job.end <= now()) && job.places.some(([first, many]) => { const at = state.names.indexOf(name); return at >= first && at < first + many; }));
    panel(`Node ${name}`, () => {
      const node = state.nodes.get(name);
      if (!node) return facts([["state", "gone"]]);
      return facts([["state", NODE_FIELDS[1].show(node)], ["reason", node.reason], ["CPUs", `${node.alloc_cpus} of ${node.cpus}`], ["memory, MiB", `${number(node.alloc_memory)} of ${number(node.real_memory)}`],
        ["GRES", node.gres], ["in use", node.gres_used], ["features", node.features], ["partitions", NODE_FIELDS[7].show(node)], ["jobs", jobs().map((job) => job.job).join(", ")]]);
    }, ...more);
  }
  function close() { byId("job").hidden = true; open = null; }
  byId("job-close").addEventListener("click", close);
  addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

  // ---- what may be done --------------------------------------------------------------------------------------------------------

  async function act(call, given) {
    byId("said").textContent = "…";
    try {
      const answer = await fetch(`do/${call}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given) });
      byId("said").textContent = (await answer.json()).error ?? "";
    } catch (error) { byId("said").textContent = String(error); }
  }
  byId("step").addEventListener("click", () => act("clock", { action: "step", seconds: byId("step-by").value }));
  byId("rate").addEventListener("click", () => act("clock", { action: "rate", rate: Number(byId("rate-to").value) }));
  for (const action of ["until-idle", "freeze", "fast"]) byId(action).addEventListener("click", () => act("clock", { action }));
  let kinds = {};
  const about = () => {
    const kind = kinds[byId("fault-what").value];
    byId("fault-about").textContent = kind ? `${kind.about}. Settings: ${Object.keys(kind.settings).join(", ")}.` : "";
  };
  fetch("faults").then((answer) => answer.json()).then((found) => {
    kinds = found;
    byId("fault-what").append(...Object.keys(found).map((name) => element("option", {}, name)));
    about();
  });
  byId("fault-what").addEventListener("change", about);
  byId("fault-add").addEventListener("click", () => {
    const words = byId("fault-given").value.match(/[^\s=]+=(?:"[^"]*"|\S*)/g) ?? [];
    const given = Object.fromEntries(words.map((word) => { const at = word.indexOf("="); return [word.slice(0, at), word.slice(at + 1).replace(/^"(.*)"$/, "$1")]; }));
    act("inject", { what: byId("fault-what").value, given });
  });
  addEventListener("resize", changed);
  document.addEventListener("themechange", changed);
  setInterval(() => { if (selected === "gantt-tab" && ["real", "running"].includes(state.clock?.mode)) showPlan(); }, 1000);
})();

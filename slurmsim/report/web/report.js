// The page of one run: Gantt chart, use over time, all jobs, users, and why a job waited. Columns come from
// packing.py and page_data.py; times are seconds since `begin`, -1 is null.
"use strict";
(async () => {
  const { number, duration, plural, numberTest, element, css, onlyRows } = Page;
  const byId = (id) => document.getElementById(id);
  // Of a comparison there are several runs; the address says which is shown (#run=1), and another one is a new page.
  const runs = document.querySelectorAll(".run-data");
  const which = Math.min(Number(/^#run=(\d+)$/.exec(location.hash)?.[1] ?? 0), runs.length - 1);
  const run = JSON.parse(runs[which].textContent);
  const col = await unpacked(document.querySelectorAll(".run-columns")[which].textContent, run.places);
  const N = run.shown;
  const LENGTH = run.end - run.begin;
  const BASE = run.epoch === null ? 0 : run.epoch + run.begin;
  const ROWS = run.nodes.length;
  const MiB_PER_GiB = 1024;

  // ---- columns -----------------------------------------------------------------------------------------------------

  async function unpacked(text, places) {
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    const kinds = { u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
    return Object.fromEntries(
      Object.entries(places).map(([name, [kind, offset, length]]) => [name, new kinds[kind](buffer, offset, length)]));
  }

  function offsets(counts) {
    const found = new Int32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) found[i + 1] = found[i] + counts[i];
    return found;
  }
  const text = (name, job) => run.texts[name][col[name][job]];
  const onAt = offsets(col.on_count), spansAt = offsets(col.span_count);
  // Runs: 0 to N-1 are the jobs' own, the last of each; then come those that ended in a requeue or another size.
  const RUNS = N + col.past_job.length;
  const jobOf = (r) => r < N ? r : col.past_job[r - N];
  const owner = new Int32Array(col.on_first.length); // of each rectangle its run
  for (let r = 0; r < RUNS; r++) owner.fill(r, onAt[r], onAt[r + 1]);
  const starts = new Float64Array(RUNS), ends = new Float64Array(RUNS);
  for (let job = 0; job < N; job++) {
    starts[job] = col.wait[job] < 0 ? NaN : col.submit[job] + col.wait[job];
    ends[job] = starts[job] + col.run[job];
  }
  for (let r = N; r < RUNS; r++) {
    starts[r] = col.past_start[r - N];
    ends[r] = starts[r] + col.past_run[r - N];
  }
  const pastState = (r) => run.texts.past_state[col.past_state[r - N]];
  const drawn = starts.slice(); // where its rectangles begin: of a resized job those of the last size
  for (let r = N; r < RUNS; r++) if (pastState(r) === "RESIZING") drawn[jobOf(r)] = Math.max(drawn[jobOf(r)], ends[r]);
  // Rectangles in the order they are painted: where jobs share a node the one with most CPUs there is seen.
  const painted = Int32Array.from(owner.keys());
  {
    const share = (k) => { const job = jobOf(owner[k]); return col.cpus[job] / Math.max(1, col.nodes[job]); };
    if (painted.some((k) => k > 0 && share(k) !== share(k - 1))) painted.sort((a, b) => share(a) - share(b) || a - b);
  }

  // ---- numbers as people read them -----------------------------------------------------------------------------------

  function moment(t) {
    if (run.epoch === null) return `+${duration(t)}`;
    return new Date((BASE + t) * 1000).toISOString().slice(0, 19).replace("T", " ");
  }
  const size = (mib) => mib >= MiB_PER_GiB ? `${number(mib / MiB_PER_GiB, 1)} GiB` : `${number(mib)} MiB`;
  const jobName = (job) =>
    col.array && col.array[job] >= 0 ? `${col.array[job]}_${col.task[job]}` : String(col.job_id[job]);

  // ---- what is in view -----------------------------------------------------------------------------------------------

  const whole = { t0: 0, t1: LENGTH, r0: 0, r1: Math.max(ROWS, 1) };
  const view = { ...whole };
  const onView = [];
  function look(t0, t1, r0 = view.r0, r1 = view.r1) {
    const length = Math.min(Math.max(t1 - t0, 10), LENGTH);
    view.t0 = Math.min(Math.max((t0 + t1 - length) / 2, 0), LENGTH - length);
    view.t1 = view.t0 + length;
    const rows = Math.min(Math.max(Math.round(r1 - r0), 1), whole.r1);
    view.r0 = Math.min(Math.max(Math.round((r0 + r1 - rows) / 2), 0), whole.r1 - rows);
    view.r1 = view.r0 + rows;
    for (const tell of onView) tell();
  }
  const zoom = (factor, at = (view.t0 + view.t1) / 2) =>
    look(at - (at - view.t0) * factor, at + (view.t1 - at) * factor);
  const move = (part) => {
    const by = part * (view.t1 - view.t0);
    const least = -view.t0, most = LENGTH - view.t1;
    const kept = Math.min(Math.max(by, least), most);
    look(view.t0 + kept, view.t1 + kept);
  };
  const reset = () => look(whole.t0, whole.t1, whole.r0, whole.r1);

  // ---- which jobs match the table's filters --------------------------------------------------------------------------

  let match = null; // Uint8Array, or null when all do
  let selected = -1;

  // ---- colours of jobs -----------------------------------------------------------------------------------------------

  const MOST = run.palette.length - 1;
  let classes = null; // { names, code: Uint8Array, colors }
  function colorBy(what) {
    const spent = (job) => Number.isNaN(starts[job]) ? 0 : col.cpus[job] * col.run[job];
    const code = new Uint8Array(N);
    if (what === "size") {
      const power = (n) => Math.ceil(Math.log2(Math.max(n, 1)));
      let most = 0;
      for (let job = 0; job < N; job++) most = Math.max(most, power(col.nodes[job]));
      const step = Math.ceil((most + 1) / 9);
      for (let job = 0; job < N; job++) code[job] = Math.floor(power(col.nodes[job]) / step);
      const names = [];
      for (let p = 0; p <= most; p += step) {
        const low = p === 0 ? 1 : 2 ** (p - 1) + 1, high = 2 ** (p + step - 1);
        names.push(low >= high ? plural(high, "node") : `${number(low)}–${number(high)} nodes`);
      }
      const ramp = names.map((_, i) => mixed(run.ramp, names.length > 1 ? i / (names.length - 1) : 0));
      classes = { what, names, code, colors: ramp };
      return;
    }
    const total = new Float64Array(run.texts[what].length);
    for (let job = 0; job < N; job++) total[col[what][job]] += spent(job);
    const order = Array.from(total.keys()).sort((a, b) => total[b] - total[a] || a - b);
    const place = new Uint8Array(total.length).fill(MOST);
    order.slice(0, order.length <= MOST + 1 ? MOST + 1 : MOST).forEach((k, i) => { place[k] = i; });
    for (let job = 0; job < N; job++) code[job] = place[col[what][job]];
    const names = order.slice(0, order.length <= MOST + 1 ? MOST + 1 : MOST).map((k) => run.texts[what][k] || "(none)");
    if (order.length > MOST + 1) names.push("other");
    const colors = names.map((name, i) => name === "other" && i === MOST ? run.other : run.palette[i]);
    classes = { what, names, code, colors };
  }
  function mixed(stops, part) {
    const at = part * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
    const [a, b] = [rgb(stops[i]), rgb(stops[i + 1])];
    return `#${a.map((x, k) => Math.round(x + (b[k] - x) * (at - i)).toString(16).padStart(2, "0")).join("")}`;
  }
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const pixel = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0; // little-endian canvas memory
  /** Colours as pixels: of each class three shades; paler, for earlier runs; faint, for jobs the filters leave out. */
  function shades() {
    const paper = rgb(css("--idle"));
    const strong = classes.colors.flatMap((hex) => [1, 0.87, 1.13].map((f) =>
      rgb(hex).map((x) => Math.round(f > 1 ? x + (255 - x) * (f - 1) * 1.6 : x * f))));
    const thinned = (part) => strong.map((color) => pixel(color.map((x, i) => Math.round(paper[i] + (x - paper[i]) * part))));
    return { strong: strong.map(pixel), pale: thinned(0.5), faint: thinned(0.13) };
  }

  // ---- charts ------------------------------------------------------------------------------------------------------------

  const charts = [];
  const SYNC = uPlot.sync("time");
  const utc = (stamp) => uPlot.tzDate(new Date(stamp * 1000), "Etc/UTC");
  const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800,
    1209600, 2419200, 4838400, 9676800, 19353600, 38707200, 77414400, 154828800];
  const xAxis = (labelled) => ({
    ...(labelled ? {} : { size: 6 }), stroke: () => css("--muted"), grid: { stroke: () => css("--line"), width: 1 },
    ticks: { stroke: () => css("--line") }, font: "12px system-ui, sans-serif",
    ...(!labelled ? { space: 100, values: (u, splits) => splits.map(() => ""), ...(run.epoch === null ? { incrs: STEPS } : {}) } : run.epoch === null ? { values: (u, splits) => splits.map((t) => duration(t)), incrs: STEPS, space: 90 } : {
      space: 100,
      values: [
        [86400 * 28, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
        [86400, "{YYYY}-{MM}-{DD}", null, null, null, null, null, null, 1],
        [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{YYYY}-{MM}-{DD}", null, null, null, 1],
        [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{YYYY}-{MM}-{DD}", null, null, null, 1],
      ],
    }),
  });
  const yAxis = (more) => ({
    stroke: () => css("--muted"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { show: false },
    font: "12px system-ui, sans-serif", size: 84, ...more,
  });
  function chart(place, height, options, data) {
    const u = new uPlot({
      width: place.clientWidth, height, tzDate: utc, padding: [10, 14, 0, 0],
      ...options,
      scales: { x: { time: run.epoch !== null, auto: false, range: () => [BASE + view.t0, BASE + view.t1] },
        ...options.scales },
      cursor: {
        drag: { x: true, y: false, setScale: false },
        sync: { key: SYNC.key, scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        bind: { dblclick: () => () => { reset(); return null; } },
        ...options.cursor,
      },
      hooks: {
        ...options.hooks,
        setSelect: [(self) => {
          const { left, width, top, height: high } = self.select;
          if (width < 4 && high < 4) return;
          const byRows = options.rows && high < self.over.clientHeight - 1;
          const inTime = width < self.over.clientWidth - 1;
          const t = [left, left + width].map((px) => self.posToVal(px, "x") - BASE);
          const r = byRows ? [top, top + high].map((px) => self.posToVal(px, "y")) : [view.r0, view.r1];
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          look(inTime ? t[0] : view.t0, inTime ? t[1] : view.t1, Math.floor(r[0]), Math.ceil(r[1]));
        }],
      },
    }, data, place);
    u.over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // else the page could not be scrolled past a chart
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.7 : 1 / 0.7, u.posToVal(u.cursor.left, "x") - BASE);
    }, { passive: false });
    charts.push({ u, place, height });
    return u;
  }
  function keys(place) {
    place.addEventListener("keydown", (event) => {
      const act = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => move(-0.25),
        ArrowRight: () => move(0.25), Home: reset, 0: reset }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  }

  // ---- Gantt -------------------------------------------------------------------------------------------------------------

  const LANE_PX = 7, LANE_CELLS = 6000, TEXT_PX = 11;
  let gantt = null, buffer = null, laid = null;
  function drawGantt(u) {
    const { left, top, width, height } = u.bbox;
    const [W, H] = [Math.round(width), Math.round(height)];
    if (W < 1 || H < 1) return;
    if (!buffer || buffer.width !== W || buffer.height !== H) buffer = new ImageData(W, H);
    const px = new Uint32Array(buffer.data.buffer);
    px.fill(pixel(rgb(css("--idle"))));
    const kx = W / (view.t1 - view.t0), ky = H / (view.r1 - view.r0);
    const gap = ky >= 5 * devicePixelRatio ? Math.round(devicePixelRatio) : 0;
    const fill = (x0, x1, y0, y1, color) => {
      for (let y = y0; y < y1; y++) px.fill(color, y * W + x0, y * W + x1);
    };
    const across = (begin, end) => {
      const x0 = Math.max(Math.floor((begin - view.t0) * kx), 0);
      const x1 = Math.min(Math.max(Math.floor((end - view.t0) * kx), x0 + 1), W);
      return [x0, x1 - x0 > 3 ? x1 - 1 : x1];
    };
    const down = pixel(rgb(css("--down")));
    for (let k = 0; k < col.down_row.length; k++) {
      const row = col.down_row[k];
      if (row < view.r0 || row >= view.r1 || col.down_end[k] <= view.t0 || col.down_begin[k] >= view.t1) continue;
      const y0 = Math.floor((row - view.r0) * ky);
      fill(...across(col.down_begin[k], col.down_end[k]), y0, Math.min(Math.max(Math.floor((row + 1 - view.r0) * ky), y0 + 1), H), down);
    }
    const { strong, pale, faint } = shades();
    const color = (r) => {
      const job = jobOf(r);
      return (match && !match[job] ? faint : r < N ? strong : pale)[3 * classes.code[job] + col.job_id[job] % 3];
    };
    laid = lanes(ky);
    if (laid) {
      for (const bar of laid) {
        const high = ky / bar.lanes;
        const y0 = Math.max(Math.round((bar.row - view.r0) * ky + bar.lane * high), 0);
        const y1 = Math.min(Math.max(Math.round((bar.row - view.r0) * ky + (bar.lane + 1) * high) - gap, y0 + 1), H);
        [bar.x0, bar.x1] = across(drawn[bar.run], ends[bar.run]);
        [bar.y0, bar.y1] = [y0, y1];
        fill(bar.x0, bar.x1, y0, y1, color(bar.run));
      }
    } else {
      const passes = match ? [0, 1] : [1]; // what matches lies over what does not
      for (const pass of passes) {
        for (let i = 0; i < painted.length; i++) {
          const k = painted[i], r = owner[k];
          if (match && match[jobOf(r)] !== pass) continue;
          if (drawn[r] >= view.t1 || ends[r] <= view.t0) continue;
          const first = col.on_first[k], last = first + col.on_length[k];
          if (first >= view.r1 || last <= view.r0) continue;
          const y0 = Math.max(Math.floor((first - view.r0) * ky), 0);
          const y1 = Math.min(Math.max(Math.floor((last - view.r0) * ky) - gap, y0 + 1), H);
          const [x0, x1] = across(drawn[r], ends[r]);
          fill(x0, x1, y0, y1, color(r));
        }
      }
    }
    u.ctx.putImageData(buffer, Math.round(left), Math.round(top));
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    if (laid) barTexts(u, laid, left, top);
    if (selected >= 0) outline(u, selected, kx, ky, left, top);
    u.ctx.restore();
  }
  /** One bar a run and node, jobs that share a node beside each other; null while there are too many to see. */
  function lanes(ky) {
    if (ky < 2 * LANE_PX * devicePixelRatio) return null;
    const bars = [];
    for (let k = 0; k < owner.length; k++) {
      const r = owner[k];
      if (drawn[r] >= view.t1 || ends[r] <= view.t0) continue;
      const last = Math.min(col.on_first[k] + col.on_length[k], view.r1);
      for (let row = Math.max(col.on_first[k], view.r0); row < last; row++) bars.push({ run: r, row, lane: 0, lanes: 1 });
      if (bars.length > LANE_CELLS) return null;
    }
    bars.sort((a, b) => a.row - b.row || drawn[a.run] - drawn[b.run] || a.run - b.run);
    let free = [], row = -1, from = 0;
    const close = (to) => { for (let i = from; i < to; i++) bars[i].lanes = free.length; };
    bars.forEach((bar, i) => {
      if (bar.row !== row) { close(i); [free, row, from] = [[], bar.row, i]; }
      let lane = free.findIndex((until) => until <= drawn[bar.run]);
      if (lane < 0) lane = free.length;
      free[lane] = ends[bar.run];
      bar.lane = lane;
    });
    close(bars.length);
    return bars;
  }
  function barTexts(u, bars, left, top) {
    const ctx = u.ctx, high = TEXT_PX * devicePixelRatio;
    ctx.font = `${high}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    let most = 400;
    for (const bar of bars) {
      const job = jobOf(bar.run);
      if (bar.y1 - bar.y0 < high + 1 || (match && !match[job])) continue;
      const name = jobName(job);
      if (bar.x1 - bar.x0 < (name.length + 1) * high * 0.62) continue;
      const [r, g, b] = rgb(classes.colors[classes.code[job]]);
      ctx.fillStyle = bar.run >= N ? css("--ink") : 0.299 * r + 0.587 * g + 0.114 * b > 150 ? "#10151b" : "#fff";
      ctx.fillText(name, left + (bar.x0 + bar.x1) / 2, top + (bar.y0 + bar.y1) / 2);
      if (--most === 0) return;
    }
  }
  function outline(u, job, kx, ky, left, top) {
    u.ctx.strokeStyle = css("--ink");
    u.ctx.lineWidth = 2 * devicePixelRatio;
    for (const r of [...pastOf(job), job]) {
      for (let k = onAt[r]; k < onAt[r + 1]; k++) {
        u.ctx.strokeRect(left + (drawn[r] - view.t0) * kx, top + (col.on_first[k] - view.r0) * ky,
          Math.max((ends[r] - drawn[r]) * kx, 2), Math.max(col.on_length[k] * ky, 2));
      }
    }
  }
  function pastOf(job) {
    const found = [];
    for (let r = N; r < RUNS; r++) if (col.past_job[r - N] === job) found.push(r);
    return found;
  }
  /** The run under the cursor, -1 for none. */
  function runAt(u) {
    const { left, top } = u.cursor;
    if (left === null || left < 0 || top < 0) return -1;
    if (laid) {
      const [x, y] = [left * devicePixelRatio, top * devicePixelRatio];
      const bar = laid.find((b) => x >= b.x0 && x <= b.x1 && y >= b.y0 && y <= b.y1);
      return bar ? bar.run : -1;
    }
    const near = (view.t1 - view.t0) / u.over.clientWidth; // a job narrower than a pixel can still be met
    const t = u.posToVal(left, "x") - BASE, row = u.posToVal(top, "y");
    for (let i = painted.length - 1; i >= 0; i--) {
      const k = painted[i], r = owner[k];
      if (row >= col.on_first[k] && row < col.on_first[k] + col.on_length[k] &&
          t >= drawn[r] && t < Math.max(ends[r], drawn[r] + near)) return r;
    }
    return -1;
  }
  function nodeSplits(u, axis, low, high) {
    const most = Math.max(2, Math.floor(u.bbox.height / devicePixelRatio / 20));
    const step = Math.max(1, Math.ceil((high - low) / most));
    const found = [];
    for (let row = Math.ceil(low); row < high; row += step) found.push(row + 0.5);
    return found;
  }
  function makeGantt(place) {
    const tip = byId("tip");
    const height = Math.round(Math.min(560, Math.max(170, 60 + 16 * ROWS)));
    gantt = chart(place, height, {
      rows: true, legend: { show: false },
      scales: { y: { dir: -1, auto: false, range: () => [view.r0, view.r1] } },
      series: [{}, { scale: "y", paths: () => null, points: { show: false } }],
      axes: [xAxis(true), yAxis({ scale: "y", splits: nodeSplits, grid: { show: false },
        values: (u, splits) => splits.map((at) => shortened(run.nodes[Math.floor(at)] ?? "")) })],
      cursor: { drag: { x: true, y: true, uni: 40, setScale: false }, points: { show: false } },
      hooks: {
        draw: [drawGantt],
        setCursor: [(u) => {
          const r = u.cursor.event ? runAt(u) : -1;
          tip.hidden = r < 0;
          if (r < 0) return;
          tip.replaceChildren(...tipLines(r, u));
          const { clientX, clientY } = u.cursor.event;
          tip.style.left = `${Math.min(clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
          tip.style.top = `${Math.min(clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
        }],
      },
    }, [[BASE, BASE + LENGTH], [0, ROWS]]);
    let pressed = null;
    gantt.over.addEventListener("mousedown", (event) => { pressed = [event.clientX, event.clientY]; });
    gantt.over.addEventListener("mouseup", (event) => {
      if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
      const r = runAt(gantt);
      if (r >= 0) showJob(jobOf(r));
    });
    gantt.over.addEventListener("mouseleave", () => { tip.hidden = true; });
  }
  const shortened = (name) => name.length > 11 ? `…${name.slice(-10)}` : name;
  function tipLines(r, u) {
    const job = jobOf(r), state = r < N ? text("state", job) : pastState(r) === "RESIZING" ? "earlier size" : `earlier run, ${pastState(r)}`;
    const row = Math.floor(u.posToVal(u.cursor.top, "y"));
    const line = (content) => element("div", {}, content);
    return [
      element("b", {}, `Job ${jobName(job)}${text("name", job) ? ` ${text("name", job)}` : ""}`),
      line(`${text("user", job)}${text("account", job) ? ` / ${text("account", job)}` : ""}, ${text("partition", job)}`),
      line(sizes(job)),
      line(`${moment(starts[r])}, ran ${duration(ends[r] - starts[r])}${r < N ? `, waited ${duration(col.wait[job])}` : ""}`),
      line(`${state}${run.nodes[row] ? `, on ${run.nodes[row]}` : ""}`),
    ];
  }
  function sizes(job) {
    const parts = [plural(col.nodes[job], "node"), plural(col.cpus[job], "CPU")];
    if (col.gpus[job]) parts.push(plural(col.gpus[job], "GPU"));
    if (col.mem_mib[job] > 0) parts.push(size(col.mem_mib[job]));
    return parts.join(", ");
  }
  function showLegend() {
    byId("legend").replaceChildren(...classes.names.map((name, i) => {
      const swatch = element("span", { className: "swatch", "aria-hidden": "true" });
      swatch.style.background = classes.colors[i];
      return element("li", {}, swatch, name);
    }), ...(RUNS > N ? [element("li", {}, "pale: earlier runs and sizes")] : []));
  }

  // ---- series over time ----------------------------------------------------------------------------------------------------

  const time = Float64Array.from(col.use_time);
  const areas = new Map(); // running integrals, made when first drawn
  function area(name) {
    if (!areas.has(name)) {
      const values = col[`use_${name}`], sums = new Float64Array(values.length + 1);
      for (let i = 0; i < values.length; i++) {
        sums[i + 1] = sums[i] + Math.max(values[i], 0) * ((i + 1 < time.length ? time[i + 1] : LENGTH) - time[i]);
      }
      areas.set(name, sums);
    }
    return areas.get(name);
  }
  /** Index of the last step at or before t, -1 before the first. */
  function stepAt(t) {
    let low = 0, high = time.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[middle] <= t) low = middle + 1; else high = middle;
    }
    return low - 1;
  }
  /** [times, one array a name]: the steps in view as they are, or means of bins as wide as two pixels. */
  function inView(names, pixels) {
    const first = stepAt(view.t0), last = stepAt(view.t1), bins = Math.max(Math.floor(pixels / 2), 50);
    if (last - first <= 2 * bins) {
      const from = Math.max(first, 0), xs = [Math.max(time[from] ?? view.t0, view.t0)];
      for (let i = from + 1; i <= last; i++) xs.push(time[i]);
      if (xs.at(-1) < view.t1) xs.push(view.t1);
      const level = (values, i) => i < 0 || values[i] === undefined || values[i] < 0 ? null : values[i];
      return [xs.map((t) => BASE + t), ...names.map((name) => xs.map((_, i) => level(col[`use_${name}`], Math.min(from + i, last))))];
    }
    const edges = Array.from({ length: bins + 1 }, (_, i) => view.t0 + (view.t1 - view.t0) * i / bins);
    const at = edges.map(stepAt);
    const columns = names.map((name) => {
      const sums = area(name), values = col[`use_${name}`];
      const integral = edges.map((t, i) => at[i] < 0 ? 0 : sums[at[i]] + Math.max(values[at[i]], 0) * (t - time[at[i]]));
      const means = edges.slice(1).map((t, i) => (integral[i + 1] - integral[i]) / (t - edges[i]));
      return [...means, means.at(-1)];
    });
    return [edges.map((t) => BASE + t), ...columns];
  }
  // A broken line where all there is would be in use.
  function capacityLine(u, top) {
    const { ctx, bbox } = u, y = Math.round(u.valToPos(top, "y", true)) + 0.5;
    ctx.save();
    Object.assign(ctx, { strokeStyle: css("--muted"), lineWidth: devicePixelRatio });
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.restore();
  }
  function makeSeries(place, { title, lines, top, unit }, isLast) {
    const names = lines.map((line) => line.name);
    const factor = unit?.factor ?? 1, digits = unit?.digits ?? 0;
    const width = () => Math.max(place.clientWidth, 300);
    const data = () => {
      const [xs, ...found] = inView(names, width());
      return [xs, ...found.map((values) => values.map((v) => v === null ? null : v * factor))];
    };
    const shown = (u, v) => v === null || v === undefined ? "–" : `${number(v, v >= 100 ? digits : digits + 1)}${unit?.name ? ` ${unit.name}` : ""}${top ? ` (${number(100 * v / top, 1)} %)` : ""}`;
    place.append(element("h3", {}, top ? `${title}, of ${number(top)}` : title));
    const u = chart(place, isLast ? 128 : 88, {
      scales: { y: { range: (self, low, high) => [0, Math.max(top ?? 0, high ?? 0, 1e-9) * 1.02] } },
      series: [
        { label: "time", value: (self, v) => v === null ? "–" : moment(v - BASE) },
        ...lines.map((line) => ({
          label: line.label, stroke: line.color, width: 1.3, scale: "y", points: { show: false },
          fill: line.fill ? `${line.color}38` : undefined, dash: line.dash, paths: uPlot.paths.stepped({ align: 1 }),
          value: shown,
        })),
      ],
      axes: [xAxis(isLast), yAxis({ scale: "y", space: 26, values: (self, splits) => splits.map((v) => number(v, v % 1 ? 1 : 0)) })],
      legend: { live: true }, cursor: { y: false },
      hooks: top ? { draw: [(self) => capacityLine(self, top)] } : {},
    }, data());
    onView.push(() => u.setData(data(), false));
  }
  function seriesThere() {
    if (run.series) return run.series;
    const has = (name) => `use_${name}` in col;
    const [blue, orange, green, red, violet, teal] = run.palette;
    const found = [];
    const cluster = run.cluster;
    if (has("alloc_cpus")) found.push({ title: "CPUs in use", top: cluster?.cpus, lines: [{ name: "alloc_cpus", label: "allocated", color: blue, fill: true }] });
    if (has("alloc_gpus")) found.push({ title: "GPUs in use", top: cluster?.gpus || undefined, lines: [{ name: "alloc_gpus", label: "allocated", color: green, fill: true }] });
    if (has("alloc_mem_mib")) found.push({ title: "Memory in use, GiB", top: cluster?.memory_mib ? cluster.memory_mib / MiB_PER_GiB : undefined, unit: { factor: 1 / MiB_PER_GiB, name: "GiB" }, lines: [{ name: "alloc_mem_mib", label: "allocated", color: violet, fill: true }] });
    const queue = [{ name: "pending", label: "pending", color: orange, fill: true }, { name: "running", label: "running", color: blue }];
    if (queue.some((line) => has(line.name))) found.push({ title: "Jobs", lines: queue.filter((line) => has(line.name)) });
    const nodes = [{ name: "alloc_nodes", label: "allocated", color: blue, fill: true }, { name: "down_nodes", label: "down", color: () => css("--down") }, { name: "off_nodes", label: "powered down", color: teal }];
    if (has("down_nodes") || has("off_nodes")) found.push({ title: "Nodes", top: cluster?.nodes, lines: nodes.filter((line) => has(line.name)) });
    const power = [{ name: "drawn_mw", label: "drawn by jobs", color: red, fill: true }, { name: "idle_mw", label: "drawn by idle nodes", color: violet }, { name: "charged_mw", label: "counted in the budget", color: orange }, { name: "budget_mw", label: "budget", color: teal, dash: [6, 4] }];
    if (power.some((line) => has(line.name))) found.push({ title: "Power, kW", unit: { factor: 1e-6, name: "kW", digits: 1 }, lines: power.filter((line) => has(line.name)) });
    return found;
  }

  // ---- a job ---------------------------------------------------------------------------------------------------------------

  function showJob(job, { scroll = false } = {}) {
    selected = job;
    byId("tip").hidden = true;
    const panel = byId("job");
    const facts = [
      ["user", text("user", job)], ["account", text("account", job)], ["partition", text("partition", job)],
      ["QOS", text("qos", job)], ["size", sizes(job)], ["limit", col.limit[job] < 0 ? "none" : duration(col.limit[job])],
      ["submitted", moment(col.submit[job])],
      ["started", Number.isNaN(starts[job]) ? "never" : moment(starts[job]) + (text("scheduler", job) ? ` by ${text("scheduler", job)}` : "")],
      ["ended", !col.ended[job] ? "not within the run" : Number.isNaN(starts[job]) ? "without a start" : moment(ends[job])],
      ["wait", duration(col.wait[job] < 0 ? null : col.wait[job])], ["run time", duration(col.run[job] < 0 ? null : col.run[job])],
      ["state", text("state", job)], ["priority", number(col.priority[job])],
      ["requeued", col.restarts[job] ? `${number(col.restarts[job])} times` : ""],
      ...pastOf(job).map((r) => [pastState(r) === "RESIZING" ? "earlier size" : "earlier run", `${moment(starts[r])} for ${duration(ends[r] - starts[r])}, ${pastState(r)}`]),
    ].filter(([, value]) => value !== "");
    byId("job-title").textContent = `Job ${jobName(job)}${text("name", job) ? ` (${text("name", job)})` : ""}`;
    byId("job-body").replaceChildren(
      element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
      element("h3", {}, "Why it waited"), ...why(job));
    panel.hidden = false;
    if (scroll) byId("job-close").focus({ preventScroll: true }); // it came from the table, perhaps by a key
    if (gantt) {
      if (scroll && !Number.isNaN(starts[job])) {
        const around = Math.max(3 * col.run[job], col.wait[job], LENGTH / 200);
        look(starts[job] - around, ends[job] + around, whole.r0, whole.r1);
      } else gantt.redraw(false);
    }
  }
  function why(job) {
    if (text("state", job) === "REFUSED") return [element("p", {}, `Refused at submission: ${text("reason", job)}`)];
    const rows = [];
    let t = col.submit[job];
    for (let k = spansAt[job]; k < spansAt[job + 1]; k++) {
      const [reason, rule] = run.reasons[col.span_reason[k]];
      rows.push(element("tr", {}, ...[moment(t), duration(col.span_s[k]), reason].map((cell) => element("td", { className: "l" }, cell)),
        element("td", { className: "l w" }, rule)));
      t += col.span_s[k];
    }
    const found = [];
    if (rows.length) {
      const head = element("tr", {}, ...["from", "for", "reason", "rule"].map((name) => element("th", { className: "l", scope: "col" }, name)));
      found.push(element("div", { className: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))));
    } else found.push(element("p", {}, Number.isNaN(starts[job]) ? "The trace has no reasons for it." : "It started at once."));
    found.push(...inLine(job));
    if (col.overtook[job] > 0) found.push(element("p", {}, `It passed ${plural(col.overtook[job], "waiting job")} when it started.`));
    if (col.planned[job] >= 0) found.push(element("p", {}, `First planned for ${moment(col.planned[job])}.`));
    found.push(element("p", { className: "muted" }, "The rest, and the jobs that freed its nodes: ",
      element("code", {}, `slurmsim why ${/^[\w./-]+$/.test(run.folder) ? run.folder : "DIR"} ${jobName(job)}`)));
    return found;
  }
  /** Who was first in line, and how many started, while the job stood in line; see slurmsim/why/explain.py. */
  function inLine(job) {
    if (N < run.jobs) return []; // of a sample nothing can be said
    const mine = [];
    for (let k = spansAt[job], t = col.submit[job]; k < spansAt[job + 1]; t += col.span_s[k++]) {
      if (run.reasons[col.span_reason[k]][2]) mine.push([t, t + col.span_s[k]]);
    }
    if (!mine.length) return [];
    const parts = new Set(text("partition", job).split(","));
    const here = run.texts.partition.map((name) => name.split(",").some((part) => parts.has(part)));
    const first = new Map(), started = new Map();
    for (let other = 0; other < N; other++) {
      if (other === job || !here[col.partition[other]]) continue;
      if (mine.some(([begin, end]) => starts[other] >= begin && starts[other] < end) && text("scheduler", other)) {
        const [n, work] = started.get(text("scheduler", other)) ?? [0, 0];
        started.set(text("scheduler", other), [n + 1, work + col.cpus[other] * col.run[other]]);
      }
      for (let k = spansAt[other], t = col.submit[other]; k < spansAt[other + 1]; t += col.span_s[k++]) {
        if (run.reasons[col.span_reason[k]][2] !== 2) continue;
        const shared = mine.reduce((sum, [begin, end]) => sum + Math.max(0, Math.min(end, t + col.span_s[k]) - Math.max(begin, t)), 0);
        if (shared) first.set(other, (first.get(other) ?? 0) + shared);
      }
    }
    const found = [];
    const longest = [...first].sort((a, b) => b[1] - a[1] || col.job_id[a[0]] - col.job_id[b[0]]);
    if (longest.length) {
      const named = longest.slice(0, 3).flatMap(([other, spent], i) => {
        const button = element("button", { type: "button", className: "link" }, `job ${jobName(other)}`);
        button.addEventListener("click", () => showJob(other));
        return [i ? ", " : "", button, ` of ${text("user", other)} (${plural(col.nodes[other], "node")}) for ${duration(spent)}`];
      });
      const rest = longest.length > 3 ? `, and ${plural(longest.length - 3, "other")}` : "";
      found.push(element("p", {}, "First in line meanwhile: ", ...named, `${rest}.`));
    }
    for (const [scheduler, [n, work]] of started) {
      found.push(element("p", {}, `While it stood in line ${scheduler} started ${plural(n, "other job")} (${number(work / 3600, 1)} CPU-hours).`));
    }
    return found;
  }
  byId("job-close").addEventListener("click", hideJob);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hideJob(); });
  function hideJob() {
    if (byId("job").hidden) return;
    if (byId("job").contains(document.activeElement)) { // back to where it came from, which may have been drawn anew
      const name = `show job ${jobName(selected)}`;
      const buttons = [...document.querySelectorAll("#jobs-table button.link")];
      buttons.find((one) => one.getAttribute("aria-label") === name)?.focus({ preventScroll: true });
    }
    byId("job").hidden = true;
    selected = -1;
    gantt?.redraw(false);
  }

  // ---- all jobs ------------------------------------------------------------------------------------------------------------

  const SENTENCE = { integer: (v) => v < 0 ? "–" : String(v), number: (v) => v < 0 ? "–" : number(v),
    duration: (v) => v < 0 ? "–" : duration(v), size: (v) => v <= 0 ? "–" : size(v) };
  const FIELDS = [
    { field: "id", title: "job", values: (job) => col.job_id[job], name: jobName, width: 96 },
    { field: "name", text: true, width: 110 }, { field: "user", text: true, width: 94 }, { field: "account", text: true, width: 94 },
    { field: "partition", text: true, width: 104 }, { field: "qos", title: "QOS", text: true, width: 90 }, { field: "state", text: true, width: 120 },
    { field: "nodes", show: "number", width: 84 }, { field: "cpus", title: "CPUs", show: "number", width: 74 },
    { field: "gpus", title: "GPUs", show: "number", width: 76 }, { field: "mem_mib", title: "memory", show: "size", width: 100 },
    { field: "submit", title: "submitted", moment: true, width: 168 },
    { field: "wait", show: "duration", width: 108 },
    ...(run.others ?? []).flatMap((i) => [
      { field: `wait_${i}`, title: `wait in ${run.runs[i]}`, show: "duration", width: 150 },
      { field: `earlier_${i}`, title: `earlier in ${run.runs[i]}`, show: "duration", width: 150 },
      { field: `later_${i}`, title: `later in ${run.runs[i]}`, show: "duration", width: 150 }]),
    { field: "run", title: "run time", show: "duration", width: 108 },
    { field: "limit", show: "duration", width: 90 }, { field: "priority", show: "number", width: 90 },
  ];
  const varies = (name) => run.texts[name].length > 1 || (run.texts[name].length === 1 && name !== "qos" && run.texts[name][0] !== "");
  const fields = FIELDS.filter((f) => f.text ? varies(f.field) : f.field in col || f.values);
  if (!col.gpus.some((v) => v > 0)) fields.splice(fields.findIndex((f) => f.field === "gpus"), 1);
  if (!col.mem_mib.some((v) => v > 0)) fields.splice(fields.findIndex((f) => f.field === "mem_mib"), 1);
  const fieldOf = Object.fromEntries(fields.map((f) => [f.field, f]));

  /** Rows that pass every filter, and whether each did. */
  function filtered(filters) {
    const tests = [];
    for (const { field, value } of filters) {
      const f = fieldOf[field], wanted = String(value ?? "").trim();
      if (!wanted) continue;
      if (f.text) {
        const exact = wanted.startsWith("="), needle = wanted.replace(/^=/, "").toLowerCase();
        const good = run.texts[field].map((name) => exact ? name.toLowerCase() === needle : name.toLowerCase().includes(needle));
        const codes = col[field];
        tests.push((job) => good[codes[job]]);
      } else if (f.field === "id") {
        const test = /^[<>=\d][\d<>= -]*$/.test(wanted) && /[<>-]/.test(wanted) ? numberTest(wanted) : null;
        tests.push(test ? (job) => test(col.job_id[job]) : (job) => jobName(job).startsWith(wanted.replace(/^=/, "")));
      } else if (f.moment) {
        tests.push((job) => moment(col.submit[job]).startsWith(wanted));
      } else {
        const test = numberTest(wanted), values = col[field];
        tests.push(test ? (job) => test(values[job]) : () => false);
      }
    }
    if (byId("in-view").checked) {
      tests.push((job) => col.submit[job] < view.t1 && (Number.isNaN(ends[job]) ? col.submit[job] >= view.t0 : ends[job] > view.t0));
    }
    const rows = [], passed = new Uint8Array(N);
    for (let job = 0; job < N; job++) if (tests.every((test) => test(job))) { rows.push(job); passed[job] = 1; }
    return { rows: Int32Array.from(rows), passed: tests.length ? passed : null };
  }
  function sorted(rows, sorters) {
    if (!sorters.length) return rows;
    const keysOf = sorters.map(({ field, dir }) => {
      const values = field === "id" ? col.job_id : col[field], sign = dir === "desc" ? -1 : 1;
      return (a, b) => sign * (values[a] - values[b]); // codes of texts are in the order of the texts
    });
    return rows.sort((a, b) => { for (const compare of keysOf) { const d = compare(a, b); if (d) return d; } return a - b; });
  }
  function shownIn(f, job) {
    if (f.name) return f.name(job);
    if (f.text) return text(f.field, job);
    return f.moment ? moment(col.submit[job]) : SENTENCE[f.show](col[f.field][job]);
  }
  const built = (table) => new Promise((done) => table.on("tableBuilt", () => { onlyRows(table); done(); }));
  let jobsTable = null;
  let last = { key: null };
  function page(params) {
    const key = JSON.stringify([params.filter, params.sort, byId("in-view").checked ? [view.t0, view.t1] : 0]);
    if (last.key !== key) {
      const { rows, passed } = filtered(params.filter ?? []);
      last = { key, rows: sorted(rows, params.sort ?? []) };
      match = passed;
      byId("count").textContent = `${number(rows.length)} of ${plural(N, "job")}`;
      gantt?.redraw(false);
    }
    const from = (params.page - 1) * params.size;
    const data = Array.from(last.rows.subarray(from, from + params.size), (job) => ({ id: job }));
    return Promise.resolve({ last_page: Math.max(1, Math.ceil(last.rows.length / params.size)), last_row: last.rows.length, data });
  }
  function makeJobs() {
    jobsTable = new Tabulator("#jobs-table", {
      ajaxURL: "jobs", ajaxRequestFunc: (url, config, params) => page(params), // no request: rows come from the columns
      pagination: true, paginationMode: "remote", paginationSize: 15, paginationSizeSelector: [15, 50, 200], filterMode: "remote", sortMode: "remote",
      paginationCounter: "rows", layout: "fitDataStretch", headerSortTristate: true, placeholder: "No job passes these filters.",
      columnDefaults: { resizable: "header", headerFilter: "input", headerFilterLiveFilter: true, tooltip: false, vertAlign: "middle" },
      initialSort: [{ column: "wait", dir: "desc" }],
      columns: fields.map((f) => ({
        field: f.field, title: f.title ?? f.field, width: f.width, hozAlign: f.text || f.moment ? "left" : "right",
        headerHozAlign: f.text || f.moment ? "left" : "right", headerSortStartingDir: f.text ? "asc" : "desc",
        headerFilterPlaceholder: f.text ? "" : f.moment ? (run.epoch === null ? "" : "2020-01") : f.field === "id" ? "" : f.show === "duration" ? "> 1h" : "> 1",
        headerFilterParams: { elementAttributes: { "aria-label": `filter jobs by ${f.title ?? f.field}` } },
        formatter: (cell) => {
          const shown = shownIn(f, cell.getRow().getData().id);
          if (f.field !== "id") return document.createTextNode(shown);
          const button = element("button", { type: "button", className: "link", "aria-label": `show job ${shown}` }, shown);
          button.addEventListener("click", (event) => { event.stopPropagation(); showJob(cell.getRow().getData().id, { scroll: true }); });
          return button;
        },
      })),
    });
    jobsTable.on("rowClick", (event, row) => showJob(row.getData().id, { scroll: true }));
    byId("in-view").addEventListener("change", () => jobsTable.setData());
    byId("clear").addEventListener("click", () => {
      byId("in-view").checked = false;
      if (jobsTable.getHeaderFilters().length) jobsTable.clearHeaderFilter(); // which loads
      else jobsTable.setData();
    });
    let waiting = 0;
    onView.push(() => {
      if (!byId("in-view").checked) return;
      clearTimeout(waiting);
      waiting = setTimeout(() => jobsTable.setData(), 150);
    });
    return built(jobsTable);
  }

  // ---- users, accounts, … --------------------------------------------------------------------------------------------------

  let classTable = null;
  function makeClasses(what) {
    const rows = run.classes[what];
    const counted = (field, title, show, digits = 0) => ({
      field, title, hozAlign: "right", headerHozAlign: "right", headerSortStartingDir: "desc", sorter: "number", minWidth: Math.max(96, 9 * title.length + 16),
      formatter: (cell) => document.createTextNode(show(cell.getValue(), digits)),
    });
    const gpus = rows.some((row) => row.gpu_hours > 0);
    classTable?.destroy();
    classTable = new Tabulator("#classes-table", {
      data: rows, layout: "fitColumns", pagination: rows.length > 12, paginationSize: 12, paginationCounter: "rows",
      initialSort: [{ column: "cpu_hours", dir: "desc" }],
      columns: [
        { field: "name", title: what, minWidth: 130, headerFilter: rows.length > 12 ? "input" : false, headerFilterParams: { elementAttributes: { "aria-label": `filter rows by ${what}` } },
          formatter: (cell) => {
            const button = element("button", { type: "button", className: "link", title: "show the jobs" }, cell.getValue());
            button.addEventListener("click", () => only(what, cell.getValue()));
            return button;
          } },
        counted("jobs", "jobs", number), counted("started", "started", number), counted("cpu_hours", "CPU hours", number),
        ...(gpus ? [counted("gpu_hours", "GPU hours", number)] : []),
        counted("mean_wait_s", "mean wait", duration), counted("median_wait_s", "median wait", duration), counted("p95_wait_s", "95 % waited at most", duration),
      ],
    });
    return built(classTable);
  }
  function only(what, name) {
    if (!fieldOf[what]) return;
    jobsTable.setHeaderFilterValue(what, `=${name === "(none)" ? "" : name}`);
    byId("jobs-section").scrollIntoView({ behavior: "smooth" });
  }

  // ---- all together --------------------------------------------------------------------------------------------------------

  byId("workbench").hidden = false;
  if (run.runs) {
    byId("which").append(...run.runs.map((name, i) => element("option", { value: i, selected: i === which }, name)));
    byId("which").addEventListener("change", (event) => { location.hash = `run=${event.target.value}`; location.reload(); });
  }
  colorBy(run.color);
  if (ROWS) {
    const select = byId("color");
    const choices = ["partition", "account", "user", "qos", "state"].filter((name) => run.texts[name].length > 1 || name === run.color);
    select.append(...[...choices, "size"].map((name) => element("option", { value: name, selected: name === run.color }, name === "qos" ? "QOS" : name)));
    select.addEventListener("change", () => { colorBy(select.value); showLegend(); gantt.redraw(false); });
    makeGantt(byId("gantt"));
    keys(byId("gantt"));
    showLegend();
    onView.push(() => gantt.redraw(false));
  } else byId("gantt-part").hidden = true;
  const shownSeries = seriesThere();
  for (const one of shownSeries) {
    const place = element("div", { className: "chart", role: "group", tabIndex: 0, "aria-label": `${one.title} over time; drag to zoom, double click for the whole run` });
    byId("series").append(place);
    makeSeries(place, one, one === shownSeries.at(-1));
    keys(place);
  }
  // Charts take the new limits of time from `view`, last of all, when their data are in place.
  onView.push(() => {
    for (const { u } of charts) u.batch(() => { u.setScale("x", { min: BASE + view.t0, max: BASE + view.t1 }); if (u === gantt) u.setScale("y", { min: view.r0, max: view.r1 }); });
    byId("shown").textContent = `${moment(view.t0)} to ${moment(view.t1)} (${duration(view.t1 - view.t0)})`;
  });
  for (const [id, act] of [["zoom-in", () => zoom(0.5)], ["zoom-out", () => zoom(2)], ["earlier", () => move(-0.5)], ["later", () => move(0.5)], ["whole", reset]]) {
    byId(id).addEventListener("click", act);
  }
  reset();
  const tables = [makeJobs()];
  const what = byId("classes-by");
  what.append(...Object.entries(run.classes).filter(([, rows]) => rows.length > 1 || rows[0]?.name !== "(none)")
    .map(([name]) => element("option", { value: name }, name === "qos" ? "QOS" : name)));
  what.addEventListener("change", () => makeClasses(what.value));
  if (what.value) tables.push(makeClasses(what.value)); else byId("classes-section").hidden = true;
  document.addEventListener("themechange", () => charts.forEach(({ u }) => u.redraw(false)));
  new ResizeObserver(() => charts.forEach(({ u, place, height }) => {
    if (place.clientWidth && place.clientWidth !== u.width) u.setSize({ width: place.clientWidth, height });
  })).observe(byId("series"));
  // A click before both tables are built would be lost: their rows are made anew, and the page moves below them.
  Promise.all(tables).then(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = "yes"; }));
})();

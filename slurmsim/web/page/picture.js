// The two pictures of nodes: who is on which when (past, present, planned), and a square a node by its state.
"use strict";
const Picture = (() => {
  const { css } = Page;
  const COLORS = ["#2b5985", "#fba355", "#4f9d69", "#c75540", "#7e68ad", "#38a7b9", "#c56a9f", "#7e614f", "#ab992e", "#5c6b7a"]; // those of reports
  const STATES = { IDLE: "#4f9d69", MIXED: "#8ab8ea", ALLOCATED: "#2b5985", DRAIN: "#fba355", DOWN: "#c75540", OTHER: "#9aa6b3" };
  const colors = new Map();
  /** The colour of a name: the same as long as the page is open. */
  function colorOf(name) {
    if (!colors.has(name)) colors.set(name, COLORS[colors.size % COLORS.length]);
    return colors.get(name);
  }

  function stateOf(node) {
    const flags = String(node.state_flags ?? "");
    if (/DRAIN|FAIL|MAINT/.test(flags)) return "DRAIN";
    return node.state in STATES ? node.state : "OTHER";
  }

  function prepared(canvas, height) {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth;
    if (!width) return null;
    canvas.style.height = `${height}px`;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    return { ctx, width };
  }

  const AXIS = 22, NAMES = 84, LANE_PX = 12, MOST_CELLS = 8000, SHADES = [1, 0.84, 0.7];
  /** What is drawn where: runs of neighbouring nodes, or, where there is room, jobs that share a node beside each other. */
  function laid(bars, t0, t1, row) {
    const shown = bars.filter((bar) => bar.start < t1 && Math.max(bar.end, bar.limit) > t0);
    const runs = shown.flatMap((bar) => bar.places.map(([first, many]) => ({ bar, first, many, lane: 0, lanes: 1 })));
    if (row < LANE_PX || runs.reduce((sum, one) => sum + one.many, 0) > MOST_CELLS) return runs;
    const cells = runs.flatMap((one) => Array.from({ length: one.many }, (_, i) => ({ ...one, first: one.first + i, many: 1 })));
    cells.sort((a, b) => a.first - b.first || a.bar.start - b.bar.start || a.bar.key - b.bar.key);
    let free = [], from = 0;
    const close = (to) => { for (let i = from; i < to; i++) cells[i].lanes = free.length; };
    cells.forEach((cell, i) => {
      const { start, end, limit } = cell.bar;
      if (!i || cell.first !== cells[i - 1].first || free.every((until) => until <= start)) { close(i); [free, from] = [[], i]; }
      let lane = free.findIndex((until) => until <= start);
      if (lane < 0) lane = free.length;
      free[lane] = Math.max(end, limit);
      cell.lane = lane;
    });
    close(cells.length);
    return cells;
  }
  /** Draw bars {places, start, end, limit, planned, color, faint} over `names`, from t0 to t1; returns what is where. */
  function plan(canvas, names, bars, t0, t1, now, moment) {
    const height = Math.min(620, Math.max(140, AXIS + 18 * names.length));
    const made = prepared(canvas, height);
    if (!made || !names.length) return [];
    const { ctx, width } = made, wide = width - NAMES, high = height - AXIS;
    const x = (t) => NAMES + (t - t0) / (t1 - t0) * wide, y = (row) => row / names.length * high;
    ctx.fillStyle = css("--idle");
    ctx.fillRect(NAMES, 0, wide, high);
    const seen = [], row = high / names.length;
    ctx.save();
    ctx.beginPath();
    ctx.rect(NAMES, 0, wide, high);
    ctx.clip();
    const gap = row > 6 ? 1 : 0;
    for (const { bar, first, many, lane, lanes } of laid(bars, t0, t1, row)) {
      const [x0, x1] = [x(bar.start), Math.max(x(bar.end), x(bar.start) + 1)], each = row / lanes;
      const top = y(first) + lane * each, tall = Math.max((many - 1) * row + each - gap, 1);
      ctx.globalAlpha = bar.planned ? 0.35 : SHADES[bar.key % SHADES.length];
      ctx.fillStyle = bar.color;
      ctx.fillRect(x0, top, Math.max(x1 - x0 - gap, 1), tall);
      if (bar.limit > bar.end) {
        ctx.globalAlpha = 0.6;
        ctx.strokeStyle = bar.color;
        ctx.strokeRect(x1, top + 0.5, x(bar.limit) - x1, Math.max(tall - 1, 1));
      }
      seen.push({ x0, x1: Math.max(x1, x(bar.limit)), y0: top, y1: top + tall, key: bar.key });
    }
    ctx.restore();
    ctx.globalAlpha = 1;
    ctx.fillStyle = css("--muted");
    ctx.font = "12px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    const step = Math.max(1, Math.ceil(names.length / Math.max(2, Math.floor(high / 18))));
    for (let row = 0; row < names.length; row += step) {
      const name = names[row];
      ctx.fillText(name.length > 11 ? `…${name.slice(-10)}` : name, 2, y(row + 0.5));
    }
    const marks = Math.max(2, Math.floor(wide / 170));
    for (let i = 0; i <= marks; i++) {
      const t = t0 + (t1 - t0) * i / marks;
      ctx.textAlign = i === 0 ? "left" : i === marks ? "right" : "center";
      ctx.fillText(moment(t), x(t), high + AXIS / 2 + 2);
    }
    ctx.textAlign = "left";
    if (now > t0 && now < t1) { ctx.fillStyle = css("--ink"); ctx.fillRect(x(now), 0, 1.5, high); }
    return seen;
  }

  /** Draw a square a node; returns the node under a point. */
  function grid(canvas, nodes) {
    const width = canvas.clientWidth;
    if (!width || !nodes.length) return () => null;
    const side = Math.max(5, Math.min(26, Math.floor(Math.sqrt(width * 420 / nodes.length))));
    const columns = Math.max(1, Math.floor(width / side)), rows = Math.ceil(nodes.length / columns);
    const made = prepared(canvas, Math.max(side, rows * side));
    if (!made) return () => null;
    nodes.forEach((node, i) => {
      const [left, top] = [i % columns * side, Math.floor(i / columns) * side];
      made.ctx.fillStyle = STATES[stateOf(node)];
      made.ctx.globalAlpha = node.state === "MIXED" ? 0.35 + 0.65 * node.alloc_cpus / Math.max(1, node.cpus) : 1;
      made.ctx.fillRect(left, top, side - 1, side - 1);
    });
    made.ctx.globalAlpha = 1;
    return (x, y) => (x >= columns * side ? null : nodes[Math.floor(y / side) * columns + Math.floor(x / side)] ?? null);
  }
  return { plan, grid, colorOf, stateOf, STATES };
})();

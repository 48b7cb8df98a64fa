// What all pages with scripts share: numbers as people read them, tests of typed filters, and elements made by text.
"use strict";
const Page = (() => {
  const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const number = (value, digits = 0) =>
    value === null || Number.isNaN(value) ? "–"
      : value.toLocaleString("en-US", { maximumFractionDigits: digits, minimumFractionDigits: digits });
  function duration(seconds) {
    if (seconds === null || Number.isNaN(seconds)) return "–";
    const sign = seconds < 0 ? "-" : "";
    const rest = Math.round(Math.abs(seconds));
    for (let i = 0; i < 3; i++) {
      const [size, unit] = UNITS[i], [small, smallUnit] = UNITS[i + 1];
      if (rest >= size) {
        const tail = Math.floor((rest % size) / small);
        return `${sign}${Math.floor(rest / size)} ${unit}${tail ? ` ${tail} ${smallUnit}` : ""}`;
      }
    }
    return `${sign}${rest} s`;
  }
  const plural = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;

  const seconds = { s: 1, min: 60, m: 60, h: 3600, d: 86400, w: 604800 };
  const amount = (input) => {
    const found = /^\s*([\d.,]+)\s*(s|min|m|h|d|w)?\s*$/.exec(input);
    return found ? Number(found[1].replaceAll(",", "")) * (seconds[found[2]] ?? 1) : NaN;
  };
  /** A test of numbers: `>10`, `<= 2h`, `5-20`, `7`; null when it is none. */
  function numberTest(input) {
    const compared = /^\s*(>=|<=|>|<|=)?(.*)$/.exec(input);
    const between = input.split("-");
    if (between.length === 2 && between[0].trim()) {
      const [low, high] = between.map(amount);
      return Number.isNaN(low + high) ? null : (v) => v >= low && v <= high;
    }
    const bound = amount(compared[2]);
    if (Number.isNaN(bound)) return null;
    return { ">": (v) => v > bound, ">=": (v) => v >= bound, "<": (v) => v >= 0 && v < bound, "<=": (v) => v >= 0 && v <= bound }[compared[1]] ?? ((v) => v === bound);
  }

  /** An element; what is in it is always text or other elements, never markup. */
  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.includes("-") || name === "role") made.setAttribute(name, value);
      else made[name] = value;
    }
    made.append(...children);
    return made;
  }
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // A grid may hold rows only: its footer moves behind it, and what scrolls has buttons to be reached by.
  function onlyRows(table) {
    table.element.querySelector(".tabulator-tableholder")?.removeAttribute("tabindex");
    const footer = table.element.querySelector(".tabulator-footer");
    if (!footer) return;
    const foot = element("div", { className: "tabulator foot" });
    foot.append(footer);
    table.element.after(foot);
    table.footerManager.external = true; // else its height is taken from that of the rows
    table.on("tableDestroyed", () => foot.remove());
  }
  return { number, duration, plural, numberTest, element, css, onlyRows };
})();

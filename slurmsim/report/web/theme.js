// Light, dark, or as the system has it: a button, remembered where the browser lets a page remember.
"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const key = "slurmsim-theme";
  let chosen = null;
  try { chosen = localStorage.getItem(key); } catch { /* not from a file in some browsers */ }
  let printing = false;

  function show() {
    const dark = !printing && (chosen ? chosen === "dark" : system.matches);
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
    document.dispatchEvent(new Event("themechange"));
  }
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(key, chosen); } catch { /* see above */ }
    show();
  });
  system.addEventListener("change", show);
  // On paper all parts are open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.more:not([open])")];
    for (const part of opened) part.open = true;
    printing = true; show();
  });
  addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
    printing = false; show();
  });
  // What is wider than its card is reached by keyboard, too.
  function reachable() {
    for (const card of document.querySelectorAll(".card")) {
      if (card.scrollWidth > card.clientWidth) card.tabIndex = 0;
      else card.removeAttribute("tabindex");
    }
  }
  addEventListener("resize", reachable);
  addEventListener("load", reachable);
  addEventListener("toggle", reachable, true);
  button.hidden = false;
  show();
})();

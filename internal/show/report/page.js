"use strict";
(() => {
  const field = (name) => document.getElementById(name);
  const box = field("filter"), state = field("state"), order = field("order"), shown = field("shown");
  const list = document.querySelector("ul.objects");
  const rows = Array.from(list.children);
  document.querySelector(".tools").hidden = false;
  const texts = rows.map((row) => row.dataset.text);
  const numbers = (name) => new Map(rows.map((row) => [row, Number(row.dataset[name])]));
  const keys = { rank: numbers("rank"), place: numbers("place"), took: numbers("took") };
  function filter() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, i) => {
      const hit = words.every((word) => texts[i].includes(word)) &&
        (state.value === "" || row.dataset.state === state.value ||
          (state.value === "changed" && row.dataset.changed === "1"));
      if (row.hidden === hit) row.hidden = !hit;
      if (hit) count++;
    });
    shown.textContent = `${count} of ${rows.length} objects`;
  }
  function sort() {
    const key = keys[order.value], place = keys.place, sign = order.value === "took" ? -1 : 1;
    const sorted = rows.slice().sort((a, b) =>
      sign * (key.get(a) - key.get(b)) || place.get(a) - place.get(b));
    list.append(...sorted);
  }
  function fold(open) {
    for (const row of rows) {
      if (!row.hidden) row.querySelector("details").open = open;
    }
  }
  function reveal() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row || !row.matches("ul.objects > li")) return false;
    if (row.hidden) { box.value = ""; state.value = ""; filter(); }
    row.querySelector("details").open = true;
    row.querySelector("summary").focus();
    return true;
  }
  box.addEventListener("input", filter);
  state.addEventListener("change", filter);
  order.addEventListener("change", sort);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { box.value = ""; filter(); }
  });
  for (const link of document.querySelectorAll("ul.counts a")) {
    link.addEventListener("click", () => { state.value = link.dataset.state; filter(); });
  }
  field("unfold").addEventListener("click", () => fold(true));
  field("fold").addEventListener("click", () => fold(false));
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || link.getAttribute("href") !== location.hash) return; // the hash changes
    if (reveal()) event.preventDefault();
  });
  filter();
  reveal();
})();

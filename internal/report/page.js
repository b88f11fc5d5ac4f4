"use strict";
(() => {
  const box = document.getElementById("filter");
  const state = document.getElementById("state");
  const shown = document.getElementById("shown");
  const rows = Array.from(document.querySelectorAll("ul.objects > li"));
  if (!box) return;
  document.querySelector(".tools").hidden = false;
  const texts = rows.map((row) => row.dataset.text);
  function filter() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, i) => {
      const hit = words.every((word) => texts[i].includes(word)) &&
        (state.value === "" || row.dataset.state === state.value ||
          (state.value === "changed" && row.dataset.changed === "1"));
      row.hidden = !hit;
      if (hit) count++;
    });
    shown.textContent = `${count} of ${rows.length} objects`;
  }
  function fold(open) {
    for (const row of rows) {
      if (!row.hidden) row.querySelector("details").open = open;
    }
  }
  function reveal() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row || !row.matches("ul.objects > li")) return;
    if (row.hidden) { box.value = ""; state.value = ""; filter(); }
    row.querySelector("details").open = true;
    row.querySelector("summary").focus();
  }
  box.addEventListener("input", filter);
  state.addEventListener("change", filter);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { box.value = ""; filter(); }
  });
  document.getElementById("unfold").addEventListener("click", () => fold(true));
  document.getElementById("fold").addEventListener("click", () => fold(false));
  window.addEventListener("hashchange", reveal);
  filter();
  reveal();
})();

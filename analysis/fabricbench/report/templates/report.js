// SPDX-License-Identifier: Apache-2.0
// Sorts and filters the table of launches. Opens folded parts before printing, and when a link leads into them.
// The page is complete without this script.
(() => {
  "use strict";

  function open(element) {
    for (let at = element; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
    }
  }

  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    open(target);
    target.scrollIntoView({ block: "center" });
  }

  window.addEventListener("hashchange", follow);
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not(.numbers)").forEach((one) => { one.open = true; });
  });
  if (location.hash) follow();

  const table = document.getElementById("launch-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);

  function key(row, column) {
    const cell = row.cells[column];
    const text = "k" in cell.dataset ? cell.dataset.k : cell.textContent.trim();
    const value = Number(text);
    return text === "" || Number.isNaN(value) ? text : value;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1;
    if (typeof b === "number") return 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function sort(column) {
    const head = heads[column];
    const falling = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const keyed = rows.map((row, at) => [key(row, column), at, row]);
    keyed.sort((a, b) => (falling ? -1 : 1) * compare(a[0], b[0]) || a[1] - b[1]);
    body.append(...keyed.map((entry) => entry[2]));
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(column));
    head.append(button);
  });

  const filter = document.getElementById("launch-filter");
  const count = document.getElementById("launch-count");
  const texts = rows.map((row) => row.textContent.toLowerCase());

  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      const fits = words.every((word) => texts[at].includes(word));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
  document.getElementById("launch-tools").hidden = false;
})();

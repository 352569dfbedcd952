// Copyright lastbit authors. SPDX-License-Identifier: Apache-2.0
"use strict";
(() => {
  const form = document.getElementById("tools"), find = document.getElementById("find");
  const differing = document.getElementById("differing"), found = document.getElementById("found");
  const items = [...document.querySelectorAll(".item")];


  function filter() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of items) {
      const name = item.dataset.name.toLowerCase();
      const fits = words.every((word) => name.includes(word)) && !(differing.checked && item.dataset.at === "equal");
      if (item instanceof SVGElement) item.classList.toggle("faint", !fits);
      else item.hidden = !fits;
      shown += item.tagName === "TR" && fits ? 1 : 0;
    }
    found.textContent = words.length || differing.checked ? shown + " rows" : "";
  }

  function sort(table, column, ascending) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    if (!heads[column]) return;
    const key = (row) => row.cells[column].dataset.n === undefined ? row.cells[column].textContent : Number(row.cells[column].dataset.n);
    const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
      : a === "" ? 1 : b === "" ? -1 : String(a).localeCompare(String(b), undefined, {numeric: true});
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => a === "" || b === "" ? compare(a, b) : (ascending ? 1 : -1) * compare(a, b));  // nothing comes last
    body.append(...rows.map(([, row]) => row));
    heads.forEach((head, i) => i === column ? head.setAttribute("aria-sort", ascending ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      const first = head.classList.contains("r") ? "ascending" : "descending";  // large numbers and early letters first
      button.onclick = () => sort(table, column, (head.getAttribute("aria-sort") || first) === "descending");
      head.replaceChildren(button);
    });
  }

  form.hidden = false;
  form.onsubmit = () => false;
  find.oninput = differing.onchange = filter;
  const wanted = new URLSearchParams(location.hash.slice(1)), order = Number(wanted.get("sort"));  // a link may ask for a view
  find.value = wanted.get("find") || "";
  differing.checked = wanted.has("differing");
  if (order) sort(document.querySelector("table.sortable"), Math.abs(order) - 1, order > 0);
  filter();
})();

"use strict";
// Filters the entries of a report by their labels, such as ERROR, and by text.

const ENTRIES = [...document.querySelectorAll(".entry")];
const SEARCH = document.getElementById("search");
const BUTTONS = [];
// So few entries need no filters, unless they have different labels.
const FEW = 6;

// Spaces are shown as dots; a search finds both by either.
function normalized(text) {
  return text.toLowerCase().replaceAll("·", " ");
}

function update() {
  const labels = new Set(pressed(BUTTONS).map((button) => button.dataset.label));
  const wanted = normalized(SEARCH.value);
  for (const entry of ENTRIES) {
    const isWanted = (!labels.size || labels.has(entry.dataset.label)) && normalized(entry.textContent).includes(wanted);
    entry.hidden = !isWanted;
  }
  const shown = ENTRIES.filter((entry) => !entry.hidden).length;
  document.getElementById("count").textContent = `${shown.toLocaleString("en")} of ${ENTRIES.length.toLocaleString("en")} entries shown`;
}

function makeButtons() {
  const counts = new Map();
  for (const { dataset: { label } } of ENTRIES) if (label) counts.set(label, (counts.get(label) ?? 0) + 1);
  for (const [label, count] of counts) {
    const button = element("button", { type: "button", class: "status", "data-label": label, "aria-pressed": "false" },
      element("b", {}, count.toLocaleString("en")), ` ${label}`);
    button.addEventListener("click", () => { press(button); update(); });
    BUTTONS.push(button);
  }
  const set = document.querySelector(".statuses");
  set.append(...BUTTONS);
  set.hidden = BUTTONS.length < 2;
}

function startFilters() {
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  makeButtons();
  form.hidden = BUTTONS.length < 2 && ENTRIES.length < FEW;
  SEARCH.addEventListener("input", update);
  update();
}

startFilters();

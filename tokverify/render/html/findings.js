"use strict";
// Filters the findings of `audit` and `chat`.

const FINDINGS = [...document.querySelectorAll(".finding")];
const SEVERITIES = document.querySelectorAll("button[data-severity]");
const SEARCH = document.getElementById("search");

function update() {
  const severities = new Set(pressed(SEVERITIES).map((button) => button.dataset.severity));
  const wanted = SEARCH.value.toLowerCase();
  for (const finding of FINDINGS) {
    const isWanted = (!severities.size || severities.has(finding.dataset.severity)) && finding.textContent.toLowerCase().includes(wanted);
    finding.hidden = !isWanted;
  }
  const shown = FINDINGS.filter((finding) => !finding.hidden).length;
  document.getElementById("nothing").hidden = shown > 0;
  document.getElementById("count").textContent = `${shown} of ${plural(FINDINGS.length, "finding")} shown`;
}

function startFilters() {
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = !FINDINGS.length;
  SEVERITIES.forEach((button) => button.addEventListener("click", () => { press(button); update(); }));
  SEARCH.addEventListener("input", update);
  if (FINDINGS.length) update();
}

startFilters();

"use strict";
// Keeps the address in step with the filters, so that a link leads to the same cases, or to a single one.

const FIELDS = { suite: [SUITE, REPORT.suites], tag: [TAG, REPORT.tags], cause: [CAUSE, REPORT.causes] };

function addressOf(values) {
  return `#${new URLSearchParams(Object.entries(values).filter(([, value]) => value))}`;
}

function filterAddress() {
  const values = { case: LINKED.name, status: pressed(STATUSES).map((button) => button.dataset.status).join(" ") || "all", search: SEARCH.value };
  for (const [name, [field, choices]] of Object.entries(FIELDS)) values[name] = field.value && choices[Number(field.value)];
  return addressOf(values);
}

function writeAddress() {
  history.replaceState(null, "", filterAddress());
}

// Sets the filters as the address says; returns whether it says anything.
function readAddress() {
  if (!location.hash.includes("=")) return false;
  const values = new URLSearchParams(location.hash.slice(1));
  clearFilters();
  LINKED.name = values.get("case") ?? "";
  SEARCH.value = values.get("search") ?? "";
  const statuses = (values.get("status") ?? "").split(" ");
  STATUSES.forEach((button) => press(button, statuses.includes(button.dataset.status)));
  for (const [name, [field, choices]] of Object.entries(FIELDS)) {
    const number = choices.indexOf(values.get(name) ?? "");
    field.value = number < 0 ? "" : String(number);
  }
  return true;
}

function followAddress() {
  if (!readAddress()) return;
  update();
  document.getElementById("cases").scrollIntoView();
}

window.addEventListener("hashchange", followAddress);
followAddress();

"use strict";
// Filters the cases of a run and lists them; a case is drawn when it is opened.

const MOST_LISTED = 100;
const MOST_OPEN = 5;
const FAILING = ["mismatch", "error"];
const REPORT = JSON.parse(document.getElementById("data").textContent);
const [LIST, COUNT, SEARCH, SUITE, TAG, CAUSE] = ["list", "count", "search", "suite", "tag", "cause"].map((id) => document.getElementById(id));
// The case that a link leads to; its name is empty without one.
const LINKED = { name: "" };
const STATUSES = document.querySelectorAll("button[data-status]");

// Spaces are shown as dots; a search finds both by either.
function normalized(text) {
  return text.toLowerCase().replaceAll("·", " ");
}

function haystack(result) {
  result.haystack ??= normalized([result.name, result.text, result.headline, result.place,
    ...result.facts.map(([, value]) => value), ...differingPieces(result)].join("\n"));
  return result.haystack;
}

function differingPieces(result) {
  const columns = (result.columns ?? []).filter((column) => column.length && !column[0]);
  return columns.flatMap(([, actual, expected]) => [...actual, ...expected]).map((number) => REPORT.tokens[number][1]);
}

function selected() {
  const statuses = new Set(pressed(STATUSES).map((button) => button.dataset.status));
  const wanted = normalized(SEARCH.value);
  return REPORT.cases.filter((result) =>
    (!LINKED.name || result.name === LINKED.name)
    && (!statuses.size || statuses.has(result.status))
    && (!SUITE.value || result.suite === Number(SUITE.value))
    && (!TAG.value || result.tags.includes(Number(TAG.value)))
    && (!CAUSE.value || result.causes.includes(Number(CAUSE.value)))
    && (!wanted || haystack(result).includes(wanted)));
}

function update() {
  const found = selected();
  COUNT.textContent = `${found.length.toLocaleString("en")} of ${plural(REPORT.cases.length, "case")} shown`;
  document.getElementById("nothing").hidden = found.length > 0;
  LIST.replaceChildren();
  appendInChunks(LIST, found, MOST_LISTED, "case", (result, index) => listCase(result, LINKED.name || (index < MOST_OPEN && result.columns)));
}

// Updates the list after a person has changed a filter.
function changeFilter() {
  LINKED.name = "";
  update();
  writeAddress();
}

function listCase(result, isOpen) {
  const summary = element("summary", {},
    element("b", { class: `badge ${result.status}` }, result.status),
    element("span", { class: "name" }, result.name),
    element("span", { class: result.headline ? "headline" : "headline text" }, result.headline || result.text));
  const listed = element("details", { class: `case ${result.status}` }, summary);
  const draw = () => { if (listed.childElementCount === 1) listed.append(drawCase(result)); };
  if (isOpen) {
    listed.open = true;
    draw();
  }
  listed.addEventListener("toggle", () => { if (listed.open) draw(); });
  return listed;
}

function drawCase(result) {
  const body = element("div", { class: "body" });
  if (result.columns) body.append(drawAlignment(REPORT.tokens, result));
  else body.append(element("p", { class: "text" }, result.text));
  const facts = result.facts.map(([label, value]) => [label, value]);
  if (result.decoded) facts.push(["text", result.text], ["actual decodes to", result.decoded[0]], ["expected decodes to", result.decoded[1]]);
  if (result.causes.length) facts.push(["cause", result.causes.map((number) => REPORT.causes[number]).join("; ")]);
  if (result.tags.length) facts.push(["tags", result.tags.map((number) => REPORT.tags[number]).join(", ")]);
  if (result.place) facts.push(["written in", result.place]);
  body.append(element("dl", { class: "facts" }, ...facts.map(([label, value]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, value)))));
  body.append(element("div", {}, ...idLists(result)));
  body.append(element("p", {}, element("a", { href: addressOf({ case: result.name }) }, "Link to this case")));
  return body;
}

function idLists(result) {
  return Object.entries(idsBySide(result)).map(([label, ids]) =>
    element("details", { class: "ids" }, element("summary", {}, `${label && `${label}: `}${plural(ids.length, "id")}`), element("code", {}, JSON.stringify(ids))));
}

// Returns one list without a label if both sides have the same ids.
function idsBySide(result) {
  if (!result.columns) return result.ids ? { "": result.ids } : {};
  const columns = columnsOf(REPORT.tokens, result);
  const idsOf = (side) => columns.flatMap((column) => column[side]).map((number) => REPORT.tokens[number][0]);
  return columns.every(([equal]) => equal) ? { "": idsOf(1) } : { actual: idsOf(1), [result.other]: idsOf(2) };
}

function fillChoices(select, names, numbersOf) {
  const counts = names.map(() => 0);
  for (const result of REPORT.cases) for (const number of numbersOf(result)) counts[number] += 1;
  select.append(...names.map((name, number) => element("option", { value: number }, `${name} (${counts[number].toLocaleString("en")})`)));
  select.closest("label").hidden = names.length === 0;
}

function clearFilters() {
  STATUSES.forEach((button) => press(button, false));
  [SEARCH, SUITE, TAG, CAUSE].forEach((field) => { field.value = ""; });
  LINKED.name = "";
}

// Shows only the cases that a select selects; `names` are its choices.
function showOnly(field, name, names) {
  clearFilters();
  field.value = String(names.indexOf(name));
  changeFilter();
  document.getElementById("cases").scrollIntoView();
  field.focus({ preventScroll: true });
}

// Makes what the page names clickable.
function replaceByButton(label, show) {
  const button = element("button", { type: "button", class: "suite" }, label.textContent);
  button.addEventListener("click", show);
  label.replaceWith(button);
}

function startLinks() {
  document.querySelectorAll("[data-cause]").forEach((button) => {
    button.hidden = !REPORT.causes.includes(button.dataset.cause);
    button.addEventListener("click", () => showOnly(CAUSE, button.dataset.cause, REPORT.causes));
  });
  document.querySelectorAll("[data-suite]").forEach((label) => {
    replaceByButton(label, () => showOnly(SUITE, label.dataset.suite, REPORT.suites));
  });
}

function startFilters() {
  fillChoices(SUITE, REPORT.suites, (result) => [result.suite]);
  fillChoices(TAG, REPORT.tags, (result) => result.tags);
  fillChoices(CAUSE, REPORT.causes, (result) => result.causes);
  [SEARCH, SUITE, TAG, CAUSE].forEach((field) => field.addEventListener("input", changeFilter));
  STATUSES.forEach((button) => {
    press(button, FAILING.includes(button.dataset.status));
    button.addEventListener("click", () => { press(button); changeFilter(); });
  });
  document.getElementById("clear").addEventListener("click", () => { clearFilters(); changeFilter(); });
  document.getElementById("all").addEventListener("click", () => { clearFilters(); changeFilter(); COUNT.closest("section").focus(); });
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  const ids = document.getElementById("ids");
  ids.addEventListener("click", () => { press(ids); LIST.classList.toggle("with-ids"); });
  ids.hidden = document.getElementById("lanes").hidden = !REPORT.tokens.length;
}

startLinks();
startFilters();
update();

"use strict";
// Sends the text to the program that serves this page, and draws what it answers.

const [TEXT, CHANGED, SUMMARY, LIST, FACTS, STAGES, EXPLAINED, OPENED] =
  ["text", "changed", "summary", "list", "facts", "stages", "explained", "opened"].map((id) => document.getElementById(id));
const OPTIONS = ["parse_special", "add_special"].map((id) => document.getElementById(id));
const STOPPED = "tokverify does not answer; start it again";

async function ask(path, body) {
  let answer;
  try {
    answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  } catch {
    throw new Error(STOPPED);
  }
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

function request() {
  return JSON.stringify({ text: TEXT.value, ...Object.fromEntries(OPTIONS.map((option) => [option.id, option.checked])) });
}

// Returns a function that runs `work` now, or once more after the run that is under way.
function oneAtATime(work) {
  let isRunning = false;
  let isWanted = false;
  return async () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      await work();
    }
    isRunning = false;
  };
}

const update = oneAtATime(async () => {
  try {
    const answer = await ask("tokens", request());
    SUMMARY.textContent = answer.summary;
    SUMMARY.dataset.status = answer.cases[0].status;
    CHANGED.textContent = answer.changed.join("; ");
    drawTokens(answer);
  } catch (error) {
    showProblem(error.message);
  }
});

const updateStages = oneAtATime(async () => {
  if (!STAGES.open) return;
  try {
    EXPLAINED.textContent = (await ask("stages", request())).stages;
  } catch (error) {
    EXPLAINED.textContent = error.message;
  }
});

function drawTokens({ cases: [result], tokens, changed }) {
  redraw(tokens, result);
  const facts = result.facts.filter(([, value]) => !changed.includes(value));
  const decoded = (result.decoded ?? []).map((text, index) => [`${["actual", "expected"][index]} decodes to`, text]);
  FACTS.replaceChildren(...[...facts, ...decoded].map(([label, value]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, value))));
}

function showProblem(message) {
  SUMMARY.textContent = message;
  SUMMARY.dataset.status = "error";
  CHANGED.textContent = "";
  clear();
  FACTS.replaceChildren();
}

// Focuses the first token of the next column that differs; after the last one, that of the first.
function nextDifference() {
  const differing = [...LIST.querySelectorAll(".differs")].filter((column) => column.querySelector(".token"));
  const at = differing.indexOf(document.activeElement?.closest(".differs"));
  focusToken(differing[(at + 1) % differing.length]?.querySelector(".token"));
}

// Asks once more, since the answer to what was typed last may still be under way.
async function copyCase() {
  const button = document.getElementById("copy");
  let yaml;
  try {
    ({ yaml } = await ask("tokens", request()));
  } catch (error) {
    showProblem(error.message);
    return;
  }
  try {
    await navigator.clipboard.writeText(yaml);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser does not allow it";
  }
  setTimeout(() => { button.textContent = "Copy as YAML"; }, 1500);
}

async function openReport(event) {
  const [file] = event.target.files;
  if (!file) return;
  try {
    const { path } = await ask("report", file);
    const link = element("a", { href: path, target: "_blank", rel: "noopener" }, `Show ${file.name}`);
    OPENED.replaceChildren(link);
    link.focus();
  } catch (error) {
    OPENED.textContent = error.message;
  }
  event.target.value = "";
}

function start() {
  const changed = () => { update(); updateStages(); };
  TEXT.addEventListener("input", changed);
  OPTIONS.forEach((option) => option.addEventListener("change", changed));
  STAGES.addEventListener("toggle", updateStages);
  document.getElementById("next").addEventListener("click", nextDifference);
  document.getElementById("copy").addEventListener("click", copyCase);
  document.getElementById("report").addEventListener("change", openReport);
  const ids = document.getElementById("ids");
  ids.addEventListener("click", () => { press(ids); LIST.classList.toggle("with-ids"); });
  document.addEventListener("keydown", (event) => {
    if (!event.altKey || event.code !== "KeyN") return;
    event.preventDefault();
    nextDifference();
  });
  update();
}

start();

"use strict";
// What all pages share: creating elements, and choosing between dark and light.

// Texts become text nodes, so nothing in them is ever interpreted as HTML.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

// Adds items a chunk at a time; a button says how many are left and adds the next ones.
function appendInChunks(parent, items, chunk, noun, make, first = chunk) {
  let next = 0;
  const more = element("button", { type: "button", class: "more" });
  const add = (count) => {
    const made = items.slice(next, next + count).map((item, index) => make(item, next + index));
    next += made.length;
    more.remove();
    parent.append(...made);
    if (next < items.length) {
      more.textContent = `${Math.min(chunk, items.length - next).toLocaleString("en")} more of ${plural(items.length - next, noun)}`;
      parent.append(more);
    }
    return made;
  };
  more.addEventListener("click", () => {
    const [added] = add(chunk);
    (added.querySelector("summary, button") ?? added).focus();
  });
  add(first);
}

function pressed(buttons) {
  return [...buttons].filter((button) => button.getAttribute("aria-pressed") === "true");
}

function press(button, on = button.getAttribute("aria-pressed") !== "true") {
  button.setAttribute("aria-pressed", on);
}

function startTheme() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
}

// Adds a button to each command that copies it.
function startCopying() {
  document.querySelectorAll("code.command").forEach((command) => {
    const button = element("button", { type: "button", class: "quiet copy" }, "Copy");
    button.addEventListener("click", async () => {
      button.textContent = await copyText(command) ? "Copied" : "Press Ctrl-C";
    });
    command.after(" ", button);
  });
}

// Returns false if the browser does not allow it; the text is then selected.
async function copyText(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}

startTheme();
startCopying();

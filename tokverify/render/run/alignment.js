"use strict";
// Draws two tokenizations of one text, and shows the details of a token that is pointed at or focused.

const MOST_COLUMNS = 300;
const MOST_TOKENS = 100;
const MOST_EQUAL = 12;
const SHOWN_EQUAL = 4;
const DETAILS = new WeakMap();
const ITEMS = new WeakMap();
const TIP = element("div", { id: "tip", role: "tooltip", hidden: "" });

// tokens: [id, piece, bytes in hexadecimal, text]; columns: [equal, actual tokens, expected tokens, text or null], or the
// number of the one token on both sides.
function columnsOf(tokens, result) {
  return result.columns.map((column) => (typeof column === "number" ? [1, [column], [column], tokens[column][3]] : column));
}

function drawAlignment(tokens, result) {
  const drawn = element("div", {
    class: "alignment", role: "group", "aria-label": "Tokens of both sides, aligned; the arrow keys move among them",
  });
  appendInChunks(drawn, itemsOf(tokens, result), MOST_COLUMNS, "column", (item) => drawItem(item, tokens, result));
  setTabStop(drawn);
  return drawn;
}

// An item is a column, or a run of equal columns that is folded.
function itemsOf(tokens, result) {
  return fold(placed(tokens, columnsOf(tokens, result)));
}

function drawItem(item, tokens, result) {
  const drawn = item.columns ? drawFold(item.columns, tokens, result) : drawColumn(item, tokens, result);
  ITEMS.set(drawn, item);
  return drawn;
}

// Lets the tab key reach the first difference, or the first token.
function setTabStop(alignment) {
  alignment.querySelectorAll(".token[tabindex='0']").forEach((token) => token.setAttribute("tabindex", "-1"));
  const first = alignment.querySelector(".differs .token") ?? alignment.querySelector(".token");
  first?.setAttribute("tabindex", "0");
}

// Adds to each column its start on both sides, in bytes.
function placed(tokens, columns) {
  const size = (numbers) => numbers.reduce((sum, number) => sum + tokens[number][2].length / 2, 0);
  let actualStart = 0;
  let expectedStart = 0;
  return columns.map(([equal, actual, expected, text]) => {
    const column = { equal, actual, expected, text, actualStart, expectedStart };
    actualStart += size(actual);
    expectedStart += size(expected);
    return column;
  });
}

// Puts the middle of each long run of equal columns into one item, unless they are all equal.
function fold(columns) {
  if (columns.every((column) => column.equal)) return columns;
  const folded = [];
  for (let start = 0; start < columns.length;) {
    let end = start;
    while (end < columns.length && columns[end].equal) end += 1;
    if (end - start > MOST_EQUAL) {
      folded.push(...columns.slice(start, start + SHOWN_EQUAL));
      folded.push({ columns: columns.slice(start + SHOWN_EQUAL, end - SHOWN_EQUAL) });
      start = end - SHOWN_EQUAL;
    }
    folded.push(...columns.slice(start, end + 1));
    start = end + 1;
  }
  return folded;
}

function drawFold(columns, tokens, result) {
  const button = element("button", { type: "button", class: "fold" }, `… ${columns.length.toLocaleString("en")} equal …`);
  button.addEventListener("click", () => {
    const inner = document.createDocumentFragment();
    columns.slice(0, MOST_COLUMNS).forEach((column) => inner.append(drawColumn(column, tokens, result)));
    const first = inner.querySelector(".token");
    if (columns.length > MOST_COLUMNS) inner.append(drawFold(columns.slice(MOST_COLUMNS), tokens, result));
    button.replaceWith(inner);
    focusToken(first);
  });
  return button;
}

function drawColumn(column, tokens, result) {
  return element("span", { class: column.equal ? "column" : "column differs" },
    element("span", { class: "text" }, column.text ?? ""),
    drawLane("actual", "actual", column, result.exact[0], tokens),
    drawLane("expected", result.other, column, result.exact[1], tokens));
}

function drawLane(lane, side, column, exact, tokens) {
  const drawn = element("span", { class: `lane ${lane}` });
  let end = 0;
  const items = column[lane].map((number) => {
    const [id, piece, bytes] = tokens[number];
    const offset = end;
    end += bytes.length / 2;
    return { id, piece, bytes, lane, side, exact, column, offset };
  });
  appendInChunks(drawn, items, MOST_TOKENS, "token", drawToken);
  if (!items.length) drawn.append(element("span", { class: "nothing" }, "nothing"));
  return drawn;
}

function drawToken(token) {
  const id = token.id ?? "none";
  const button = element("button", {
    type: "button", class: `token ${token.lane}${token.bytes ? "" : " silent"}`, tabindex: "-1", "data-id": id,
  }, token.piece || "(no piece)");
  button.style.flexGrow = String(Math.max(1, token.bytes.length / 2));
  DETAILS.set(button, token);
  return button;
}

function showTip(button) {
  const token = DETAILS.get(button);
  const from = token.column[`${token.lane}Start`] + token.offset;
  const to = from + token.bytes.length / 2;
  const details = {
    [token.side]: `token ${token.id ?? "none"}`,
    piece: token.piece || "(no piece)",
    bytes: token.bytes.replace(/../g, "$& ").trim() || "none",
    span: `bytes ${from.toLocaleString("en")} to ${to.toLocaleString("en")} of the ${token.exact ? "text" : "decoded text"}`,
  };
  TIP.replaceChildren(...Object.entries(details).map(([label, value]) => element("p", {}, element("span", {}, `${label} `), element("code", {}, value))));
  TIP.hidden = false;
  const place = button.getBoundingClientRect();
  const left = Math.max(8, Math.min(place.left, document.documentElement.clientWidth - TIP.offsetWidth - 8));
  // On the side where it hides neither this token nor what stands opposite it, if there is room.
  const roomBelow = place.bottom + TIP.offsetHeight + 8 < innerHeight;
  const above = (token.lane === "actual" || !roomBelow) && place.top > TIP.offsetHeight + 8;
  TIP.style.left = `${left + scrollX}px`;
  TIP.style.top = `${(above ? place.top - TIP.offsetHeight - 4 : place.bottom + 4) + scrollY}px`;
  describe(button);
}

function describe(button) {
  document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
  button?.setAttribute("aria-describedby", "tip");
}

function hideTip() {
  TIP.hidden = true;
  describe(null);
}

function focusToken(token) {
  if (!token) return;
  token.closest(".alignment").querySelectorAll(".token[tabindex='0']").forEach((other) => other.setAttribute("tabindex", "-1"));
  token.setAttribute("tabindex", "0");
  token.focus();
}

// Returns the neighbor of a token in its lane, or its opposite in the other lane.
function neighbor(token, key) {
  const alignment = token.closest(".alignment");
  const isActual = token.classList.contains("actual");
  const lane = [...alignment.querySelectorAll(isActual ? ".token.actual" : ".token.expected")];
  const at = lane.indexOf(token);
  switch (key) {
    case "ArrowLeft": return lane[at - 1];
    case "ArrowRight": return lane[at + 1];
    case "Home": return lane[0];
    case "End": return lane.at(-1);
    case "ArrowUp": return isActual ? undefined : opposite(token, ".token.actual");
    case "ArrowDown": return isActual ? opposite(token, ".token.expected") : undefined;
    default: return null;
  }
}

function opposite(token, selector) {
  for (let column = token.closest(".column"); column; column = column.previousElementSibling) {
    const found = column.querySelector(selector);
    if (found) return found;
  }
  return undefined;
}

function startAlignments() {
  document.querySelector("main").append(TIP);
  const tokenOf = (event) => (event.target instanceof Element ? event.target.closest(".token:not(.key)") : null);
  document.addEventListener("mouseover", (event) => { if (tokenOf(event)) showTip(tokenOf(event)); });
  document.addEventListener("mouseout", (event) => {
    if (!(event.relatedTarget instanceof Element && event.relatedTarget.closest("#tip, .token"))) hideTip();
  });
  document.addEventListener("focusin", (event) => { if (tokenOf(event)) showTip(tokenOf(event)); else hideTip(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
    const token = tokenOf(event);
    const next = token && !event.ctrlKey && !event.altKey && !event.metaKey ? neighbor(token, event.key) : null;
    if (next === null) return;
    event.preventDefault();
    focusToken(next);
  });
}

startAlignments();

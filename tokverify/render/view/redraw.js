"use strict";
// Redraws the alignment while a text is typed. Items that stay the same stay in the page: to create them and to lay them
// out again would take longer than everything else.

let shown = null;

function clear() {
  shown = null;
  LIST.replaceChildren();
}

function redraw(tokens, result) {
  if (!result.columns) {
    clear();
    return;
  }
  const items = itemsOf(tokens, result);
  const keys = items.map((item) => keyOf(item, tokens, result));
  if (shown && drawnItems().every((drawn) => ITEMS.has(drawn))) {
    replaceChanged(items, keys, (item) => drawItem(item, tokens, result));
    setTabStop(shown.alignment);
  } else {
    // This is the first text, or a folded run was opened, so that items and elements no longer correspond.
    shown = { alignment: drawAlignment(tokens, result) };
    LIST.replaceChildren(shown.alignment);
  }
  shown.keys = keys;
}

// Everything that is seen of an item, which is all but where its tokens start.
function keyOf(item, tokens, result) {
  const lane = (numbers) => numbers.map((number) => tokens[number]);
  const columns = (item.columns ?? [item]).map(({ equal, actual, expected, text }) => [equal, text, lane(actual), lane(expected)]);
  return JSON.stringify([Boolean(item.columns), result.exact, columns]);
}

function drawnItems() {
  return [...shown.alignment.querySelectorAll(":scope > :not(.more)")];
}

// Replaces the items between the first and the last one that changed, as far as they are drawn.
function replaceChanged(items, keys, draw) {
  const start = countEqual(shown.keys, keys);
  const end = countEqual(shown.keys.slice(start).reverse(), keys.slice(start).reverse());
  const newEnd = items.length - end;
  const drawn = drawnItems();
  const following = drawn.slice(shown.keys.length - end);
  const limit = Math.max(MOST_COLUMNS, drawn.length);
  const added = items.slice(start, Math.min(newEnd, limit)).map(draw);
  drawn.slice(start, shown.keys.length - end).forEach((removed) => removed.remove());
  shown.alignment.querySelector(":scope > .more")?.remove();
  if (following.length) following[0].before(...added); else shown.alignment.append(...added);
  following.slice(Math.max(0, limit - newEnd)).forEach((removed) => removed.remove());
  following.forEach((kept, index) => move(ITEMS.get(kept), items[newEnd + index]));
  const count = drawnItems().length;
  appendInChunks(shown.alignment, items.slice(count), MOST_COLUMNS, "column", draw, limit - count);
}

function countEqual(left, right) {
  const size = Math.min(left.length, right.length);
  let count = 0;
  while (count < size && left[count] === right[count]) count += 1;
  return count;
}

// Gives the columns of a kept item the places that they have in the new text.
function move(item, moved) {
  const columns = moved.columns ?? [moved];
  (item.columns ?? [item]).forEach((column, index) => {
    column.actualStart = columns[index].actualStart;
    column.expectedStart = columns[index].expectedStart;
  });
}

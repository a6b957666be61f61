// The page is complete without this script. It adds sorting and the details of a number.
"use strict";

const find = (selector, within = document) => [...within.querySelectorAll(selector)];

// On a small screen the answers above each table are folded, so that the table is in view.
if (innerWidth < 700) find(".answers").forEach((answers) => { answers.open = false; });

// Sorting: best first, then worst first, then as it was. A published row stays below the row of ours that it follows.

function groupsOf(body) {
  const groups = [];
  for (const line of body.rows) {
    if (line.classList.contains("paper")) groups.at(-1).push(line);
    else groups.push([line]);
  }
  return groups;
}

function sortBy(table, place, order) {
  const key = ([line]) => {
    const text = line.cells[place].textContent.trim();
    return place < 1 ? text : parseFloat(text.replace("−", "-"));
  };
  const missing = (x) => x === "" || Number.isNaN(x);
  const sorted = order === "" ? [...table.initial] : table.initial.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    const ascending = typeof x === "string" ? x.localeCompare(y) : x - y;
    return order === "ascending" ? ascending : -ascending;
  });
  table.tBodies[0].append(...sorted.flat());
}

for (const table of find("table.numbers")) {
  table.initial = groupsOf(table.tBodies[0]);
  const heads = find("thead th", table);
  for (const [place, head] of heads.entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const best = place < 1 || /lower is better$/.test(head.dataset.tip) ? "ascending" : "descending";
    button.addEventListener("click", () => {
      const worst = best === "ascending" ? "descending" : "ascending";
      const order = { [best]: worst, [worst]: "" }[head.ariaSort ?? ""] ?? best;
      for (const other of heads) other.removeAttribute("aria-sort");
      if (order) head.ariaSort = order;
      sortBy(table, place, order);
    });
  }
}

// Details of a number (seeds, difference, p-values) and of a heading, for the pointer, for touch and for the keyboard.

const tip = document.getElementById("tip");

const HAS_DETAILS = "[data-tip], [data-v]";

function textOf(cell) {
  if (cell.dataset.tip) return cell.dataset.tip;
  const [values, tests] = cell.dataset.v.split("|").map((part) => part.split(" "));
  const seeds = cell.parentElement.dataset.seeds.split(" ");
  const lines = [values.map((value, place) => (seeds[place] ? `seed ${seeds[place]}: ${value}` : value)).join(" · ")];
  if (tests) {
    const [difference, half, p, ofItems] = tests;
    const signed = (difference > 0 ? "+" : "") + difference.replace("-", "−");
    lines.push(`difference from mle: ${signed}${half === "-" ? "" : ` ± ${half} (95 % t interval over seeds)`}`);
    if (p !== "-") lines.push(`p over seeds, after Holm: ${p}`);
    if (ofItems !== "-") lines.push(`p over test items, after Holm: ${ofItems}`);
  }
  return lines.join("\n");
}

function show(cell) {
  tip.textContent = textOf(cell);
  tip.hidden = false;
  const at = cell.getBoundingClientRect();
  const below = at.bottom + 6 + tip.offsetHeight < innerHeight || at.top < tip.offsetHeight + 6;
  tip.style.left = `${Math.min(Math.max(8, at.left), Math.max(8, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${below ? at.bottom + 6 : at.top - tip.offsetHeight - 6}px`;
  cell.setAttribute("aria-describedby", "tip");
}

function hide() {
  tip.hidden = true;
  find("[aria-describedby=tip]").forEach((cell) => cell.removeAttribute("aria-describedby"));
}

// Arrows, Home and End go from cell to cell of a table, which is one stop of the tab key.
function move(event) {
  const cell = event.target.closest(HAS_DETAILS);
  if (event.key === "Escape") hide();
  if (!cell || event.target !== cell) return;
  const line = cell.parentElement;
  const along = find(HAS_DETAILS, line);
  const lines = find("tbody tr", cell.closest("table")).filter((row) => row.cells[cell.cellIndex]?.matches(HAS_DETAILS));
  const neighbour = (by) => lines[lines.indexOf(line) + by]?.cells[cell.cellIndex];
  const to = { ArrowRight: along[along.indexOf(cell) + 1], ArrowLeft: along[along.indexOf(cell) - 1], Home: along[0],
    End: along.at(-1), ArrowDown: neighbour(1), ArrowUp: neighbour(-1) }[event.key];
  if (!to) return;
  event.preventDefault();
  find("tbody [tabindex='0']", cell.closest("table")).forEach((other) => { other.tabIndex = -1; });
  to.tabIndex = 0;
  to.focus();
}

for (const table of find("table.numbers")) {
  table.role = "grid";
  find("tbody :is([data-tip], [data-v])", table).forEach((cell, place) => { cell.tabIndex = place ? -1 : 0; });
  for (const [event, act] of Object.entries({ mouseover: show, focusin: show, mouseout: hide, focusout: hide })) {
    table.addEventListener(event, ({ target }) => {
      const cell = target.closest(HAS_DETAILS);
      if (cell) act(cell);
    });
  }
  table.addEventListener("keydown", move);
}
addEventListener("scroll", () => {
  const cell = document.activeElement;
  const at = cell.getBoundingClientRect();
  if (cell.matches(HAS_DETAILS) && !tip.hidden && at.bottom > 0 && at.top < innerHeight) show(cell);
  else hide();
}, { passive: true });

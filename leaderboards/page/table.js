// Table: head, rows, sorting, and moving among cells by keys.

const FIXED = [
  { key: "method", name: "Method", text: true },
  { key: "backbone", name: "Backbone", text: true },
  { key: "seeds", name: "Seeds", text: false },
];

// Headings of which a table is set closer.
const DENSE = 12;

// The metric columns of a table carry a prefix, so that a metric may be called "method".
function headings(table) {
  const metrics = shownColumns(table).map((column) => (
    { key: `= ${column.name}`, name: column.name, text: false, better: column.higher_is_better, column }));
  return [...(isNarrow() ? FIXED.slice(0, 1) : FIXED), ...metrics];
}

function tableNode(table) {
  const heads = headings(table);
  const rows = shownRows(table);
  const body = el("tbody", {}, bodyRows(table, rows, heads));
  const grid = el("table", { role: "grid", class: heads.length > DENSE ? "dense" : null, "aria-label": table.title, "data-table": table.id,
    onkeydown: (event) => move(event, grid) },
  el("thead", {}, el("tr", {}, heads.map((head) => headNode(table, head)))), body);
  const first = grid.querySelector("tbody [data-cell]");
  if (first) first.tabIndex = 0;
  return el("div", { class: "scroll", tabindex: -1 }, grid);
}

function headNode(table, head) {
  const mine = chosen(table);
  const on = mine.sort === head.key;
  const way = head.better === true ? "↑" : head.better === false ? "↓" : "";
  const says = head.better === true ? "higher is better" : head.better === false ? "lower is better" : "";
  const cell = el("th", { scope: "col", class: head.text ? "text" : "num", title: says || null,
    "aria-sort": on ? (mine.up ? "ascending" : "descending") : "none" },
  el("button", { type: "button", class: "sort", "data-sort": head.key, onclick: () => sortBy(table, head) },
    breakable(head.name), way && el("span", { class: "way", "aria-hidden": "true" }, `\u00a0${way}`),
    says && el("span", { class: "sr" }, `, ${says}`),
    el("span", { class: "mark", "aria-hidden": "true" }, on ? (mine.up ? "▲" : "▼") : "")));
  return cell;
}

// Best first, then the other way round, then as it was.
function sortBy(table, head) {
  const mine = chosen(table);
  const bestUp = head.text || head.better === false;
  if (mine.sort !== head.key) [mine.sort, mine.up] = [head.key, bestUp];
  else if (mine.up === bestUp) mine.up = !bestUp;
  else [mine.sort, mine.up] = ["", false];
  redraw(table, `[data-sort="${CSS.escape(head.key)}"]`);
}

// A long name may break after its slashes, hyphens, bars and dots, and nowhere else.
function breakable(name) {
  return name.split(/(?<=[/|\-_. ])/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

function bodyRows(table, rows, heads) {
  const all = visibleRows(table);
  const domains = new Map(heads.filter((head) => head.column).map((head) => [head.name, domain(all, head.name)]));
  const said = new Set();
  const lines = [];
  const ours = isNarrow() && isFolded(table);
  for (const row of rows) {
    lines.push(rowNode(table, row, heads, domains));
    for (const paper of state.papers && !ours ? table.published : []) {
      if (paper.method !== row.method || said.has(paper)) continue;
      said.add(paper);
      lines.push(paperNode(paper, row, heads));
    }
  }
  const human = ours || state.method.length ? [] : table.human;
  for (const row of human) lines.push(rowNode(table, row, heads, domains, true));
  if (!lines.length) lines.push(el("tr", {}, el("td", { colspan: heads.length, class: "none" }, "No row fits.")));
  return lines;
}

function rowNode(table, row, heads, domains, human = false) {
  const line = el("tr", { "data-row": row.id, class: human ? "human" : null });
  for (const head of heads) {
    if (head.key === "method") line.append(nameCell(table, row, human));
    else if (head.key === "backbone") line.append(el("td", { class: "text soft" }, row.backbone));
    else if (head.key === "seeds") line.append(el("td", { class: "num soft" }, row.seeds_text));
    else line.append(valueCell(table, row, head, domains));
  }
  return line;
}

function nameCell(table, row, human) {
  const cell = el("th", { scope: "row", class: "text" });
  if (human) {
    cell.append(row.label);
    return cell;
  }
  const why = { control: `would explain a gain of ${row.controls.join(", ")} away`, untuned: `one shared value of ${row.untuned}`, imported: "texts of another system, read from a file" };
  const marks = row.marks.map((mark) => el("span", { class: "badge", title: why[mark] }, mark));
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false",
    "aria-label": `Settings and records of ${row.label}`, onclick: () => toggleDetails(table, row, more) }, "›");
  cell.append(more, el("span", { class: "name" }, breakable(row.method)), ...marks, el("small", { class: "sub" }, row.settings || ""));
  if (isNarrow()) cell.append(el("small", { class: "sub" }, `${row.backbone} · ${seedsOf(row)}`));
  return cell;
}

function seedsOf(row) {
  return row.seeds_text === "1" ? "1 seed" : `${row.seeds_text} seeds`;
}

function toggleDetails(table, row, button) {
  const line = button.closest("tr");
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) line.nextElementSibling.remove();
  else line.after(el("tr", { class: "details" }, el("td", { colspan: line.children.length }, detailsNode(table, row))));
}

function valueCell(table, row, head, domains) {
  const value = row.values.get(head.name);
  const cell = el("td", { class: "num" });
  if (!value) return cell;
  const classes = ["value", value.best && "best", value.second && "second", value.mean === null && "soft"];
  cell.append(el("span", { class: classes.filter(Boolean).join(" ") }, shown(value)));
  if (value.differs) cell.append(el("sup", {}, "†"));
  if (value.mean !== null) {
    cell.append(el("span", { class: "under" }, value.interval && el("span", { class: "half" }, `±${value.interval}`),
      value.n_seeds > 1 && whisker(value, domains.get(head.name))));
  }
  cell.dataset.cell = "";
  cell.tabIndex = -1;
  const show = () => showTip(cell, tipOf(table, row, head, value));
  for (const name of ["mouseenter", "focus"]) cell.addEventListener(name, show);
  for (const name of ["mouseleave", "blur"]) cell.addEventListener(name, hideTip);
  return cell;
}

function paperNode(paper, row, heads) {
  const line = el("tr", { class: "paper" });
  for (const head of heads) {
    if (head.key === "method") {
      line.append(el("th", { scope: "row", class: "text", title: paper.note || null }, paper.name,
        isNarrow() && el("small", { class: "sub" }, paper.backbone)));
    } else if (head.key === "backbone") line.append(el("td", { class: "text" }, paper.backbone));
    else line.append(paperCell(paper, row, head));
  }
  return line;
}

function paperCell(paper, row, head) {
  const printed = head.column ? paper.texts[head.name] : undefined;
  const cell = el("td", { class: "num" });
  if (printed === undefined) return cell;
  cell.append(printed);
  const delta = paper.deltas[row.id]?.[head.name];
  if (delta) cell.append(el("span", { class: "delta", title: "ours minus published" }, `Δ ${delta}`));
  if (paper.why_not && (row.values.get(head.name)?.mean ?? null) !== null) {
    cell.title = `not comparable: ${paper.why_not}`;
    cell.append(el("span", { class: "sr" }, " (not comparable)"));
  }
  return cell;
}

// Arrows, Home and End go from number to number; a screen reader reads the cell and its tip.
function move(event, grid) {
  const cell = event.target.closest("[data-cell]");
  if (!cell) return;
  if (event.key === "Escape") return hideTip();
  const line = cell.parentElement;
  const along = [...line.querySelectorAll("[data-cell]")];
  const at = along.indexOf(cell);
  const lines = [...grid.querySelectorAll("tbody tr")].filter((row) => row.querySelector("[data-cell]"));
  const sameColumn = (by) => {
    for (let i = lines.indexOf(line) + by; lines[i]; i += by) {
      const there = lines[i].children[cell.cellIndex];
      if (there?.dataset.cell !== undefined) return there;
    }
    return null;
  };
  const to = { ArrowRight: () => along[at + 1], ArrowLeft: () => along[at - 1], Home: () => along[0],
    End: () => along.at(-1), ArrowDown: () => sameColumn(1), ArrowUp: () => sameColumn(-1) }[event.key]?.();
  if (!to) return;
  event.preventDefault();
  cell.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

// Page: filters, a section for each table, the theme; everything is drawn anew from the state.

const sections = new Map();

const PANELS = [
  { key: "samples", name: "Samples", there: (table) => table.samples.length, node: samplesNode },
  { key: "wins", name: "Wins and losses", there: (table) => table.wins, node: winsNode },
  { key: "frequency", name: "Word frequency", there: (table) => table.frequency.length, node: frequencyNode },
  { key: "curves", name: "Training curves", there: (table) => table.curves.length, node: curvesNode },
];

function sectionNode(table) {
  const mine = chosen(table);
  const panels = PANELS.filter((panel) => panel.there(table));
  const open = panels.find((panel) => panel.key === mine.open);
  const tabs = panels.map((panel) => el("button", { type: "button", class: "tab", "data-open": panel.key,
    "aria-expanded": String(panel === open), onclick: () => {
      mine.open = panel === open ? "" : panel.key;
      redraw(table, `[data-open=${panel.key}]`);
    } }, panel.name));
  return el("section", { class: "board", id: anchorOf(table.id), "aria-label": table.name, "data-section": table.id },
    el("div", { class: "headline" }, el("h2", {}, table.name,
      el("small", {}, table.title.replace(`${table.task} · `, ""))),
    el("div", { class: "tools" }, columnChooser(table), copyButtons(table))),
    table.watermark && el("p", { class: "mark" }, `Not comparable with published numbers: ${table.watermark}`),
    table.legend.length ? el("p", { class: "legend-line" }, table.legend.join(" · ")) : null,
    tableNode(table),
    tabs.length ? el("div", { class: "tabs", role: "group", "aria-label": "More of this table" }, tabs) : null,
    open ? el("div", { class: "panel", role: "region", "aria-label": open.name }, open.node(table)) : null,
    table.remarks.length ? el("details", { class: "remarks", open: table.remarks.length < 3 }, el("summary", {}, "Notes"),
      el("ul", {}, table.remarks.map((remark) => el("li", {}, remark)))) : null);
}

function columnChooser(table) {
  const boxes = table.columns.map((column) => {
    const box = el("input", { type: "checkbox", value: column.name, onchange: () => {
      const wanted = new Set(visibleColumns(table).map((candidate) => candidate.name));
      if (box.checked) wanted.add(column.name);
      else wanted.delete(column.name);
      const names = table.columns.filter((candidate) => wanted.has(candidate.name)).map((candidate) => candidate.name);
      const asAtFirst = table.columns.every((candidate) => candidate.shown === wanted.has(candidate.name));
      chosen(table).columns = asAtFirst ? null : names;
      redraw(table, `[data-chooser] input[value="${CSS.escape(column.name)}"]`);
    } });
    box.checked = visibleColumns(table).includes(column);
    return el("label", {}, box, column.name);
  });
  return popover("chooser", `Columns ${visibleColumns(table).length}/${table.columns.length}`, boxes, table.id);
}

// A list behind a button; Escape and a click elsewhere close it.
function popover(kind, label, content, id = "") {
  const summary = el("summary", {}, label);
  return el("details", { class: "popover", [`data-${kind}`]: id, onkeydown: (event) => {
    if (event.key !== "Escape") return;
    event.currentTarget.open = false;
    summary.focus();
  } }, summary, el("div", { class: "list" }, content));
}

// Draw one table again, and give the focus back to what had it.
function redraw(table, focus) {
  hideTip();
  writeHash();
  const old = sections.get(table.id);
  const fresh = sectionNode(table);
  const left = old.querySelector(".scroll")?.scrollLeft ?? 0;
  for (const kind of ["[data-chooser]"]) if (old.querySelector(kind)?.open) fresh.querySelector(kind).open = true;
  old.replaceWith(fresh);
  sections.set(table.id, fresh);
  fresh.querySelector(".scroll").scrollLeft = left;
  if (focus) fresh.querySelector(focus)?.focus({ preventScroll: true });
}

function drawAll() {
  hideTip();
  writeHash();
  sections.clear();
  const tables = visibleTables().filter((table) => visibleRows(table).length);
  for (const table of tables) sections.set(table.id, sectionNode(table));
  const main = document.getElementById("tables");
  main.replaceChildren(...(sections.size ? sections.values() : [el("p", { class: "none" }, "No table fits. Clear a filter.")]));
  const all = board.tables.reduce((sum, table) => sum + table.methods.length, 0);
  const rows = tables.reduce((sum, table) => sum + visibleRows(table).length, 0);
  document.getElementById("count").textContent = `${rows} of ${all} rows, ${tables.length} of ${board.tables.length} tables`;
}

function select(name, all) {
  const known = [...new Set(board.tables.map((table) => table[name]))];
  const node = el("select", { id: `by-${name}`, onchange: () => { state[name] = node.value; drawAll(); } },
    el("option", { value: "" }, all), known.map((value) => el("option", { value: value }, value)));
  node.value = state[name];
  return el("label", {}, el("span", { class: "sr" }, name), node);
}

function methodFilter() {
  const known = [...new Set(board.tables.flatMap((table) => table.methods.map((row) => row.method)))].sort();
  const label = () => (state.method.length ? `Methods ${state.method.length}/${known.length}` : "All methods");
  const boxes = known.map((method) => {
    const box = el("input", { type: "checkbox", value: method, onchange: () => {
      state.method = box.checked ? [...state.method, method] : state.method.filter((name) => name !== method);
      list.querySelector("summary").textContent = label();
      drawAll();
    } });
    box.checked = state.method.includes(method);
    return el("label", {}, box, method);
  });
  const list = popover("methods", label(), boxes);
  return list;
}

function drawFilters() {
  const search = el("input", { type: "search", id: "search", placeholder: "Search rows", "aria-label": "Search rows",
    autocomplete: "off", spellcheck: "false", oninput: () => { state.q = search.value.trim(); drawAll(); } });
  search.value = state.q;
  const papers = el("input", { type: "checkbox", id: "papers", onchange: () => { state.papers = papers.checked; drawAll(); } });
  papers.checked = state.papers;
  const form = document.getElementById("filters");
  form.replaceChildren(search, select("task", "All tasks"), select("preset", "All presets"), methodFilter(),
    el("label", { class: "check" }, papers, "Published rows"),
    el("button", { type: "button", id: "link", onclick: () => copy(location.href, "Link to this view copied") }, "Copy link"),
    el("button", { type: "button", id: "reset", onclick: () => { history.replaceState(null, "", location.pathname + location.search); start(); } }, "Reset"));
  form.onsubmit = (event) => event.preventDefault();
}

const THEME = "objective-bench theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function storedTheme(value) {
  try {
    if (value) localStorage.setItem(THEME, value);
    return localStorage.getItem(THEME);
  } catch {
    return value ?? null;
  }
}

function isDark() {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : dark.matches;
}

function showTheme(set) {
  if (set === "dark" || set === "light") document.documentElement.dataset.theme = set;
  const button = document.getElementById("theme");
  button.textContent = isDark() ? "☀ Light" : "☾ Dark";
  button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
}

function start() {
  readHash();
  drawFilters();
  drawAll();
}

for (const id of ["theme", "filters", "count"]) document.getElementById(id).hidden = false;
document.getElementById("theme").onclick = () => showTheme(storedTheme(isDark() ? "light" : "dark"));
dark.addEventListener("change", () => showTheme(null));
addEventListener("hashchange", start);
addEventListener("scroll", keepTip, { passive: true });
addEventListener("click", (event) => {
  for (const list of document.querySelectorAll("details.popover[open]")) {
    if (event.target.isConnected && !list.contains(event.target)) list.open = false;
  }
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  document.getElementById("search").focus();
});
showTheme(storedTheme());
start();
document.documentElement.classList.add("live");

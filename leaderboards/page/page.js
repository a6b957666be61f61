// Page: a section for each table; everything is drawn anew from the state.

const sections = new Map();

const PANELS = [
  { key: "samples", name: "Samples", there: (table) => table.samples.length, node: samplesNode },
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
  const scroll = tableNode(table);
  const choice = isNarrow() ? metricPicker(table) : [overflowCue(scroll), columnChooser(table)];
  return el("section", { class: "board", id: anchorOf(table.id), "aria-label": table.name, "data-section": table.id },
    el("div", { class: "headline" }, el("h2", {}, table.name,
      el("small", {}, table.title.replace(`${table.task} · `, ""))),
    el("div", { class: "tools" }, choice)),
    table.watermark && el("p", { class: "mark" }, `Not comparable with published numbers: ${table.watermark}`),
    table.legend.length ? el("p", { class: "legend-line" }, table.legend.join(" · ")) : null,
    scroll,
    canFold(table) && foldButton(table),
    el("div", { class: "tabs", role: "group", "aria-label": "More of this table" }, tabs),
    open ? el("div", { class: "panel", role: "region", "aria-label": open.name }, open.node(table)) : null,
    table.remarks.length ? el("details", { class: "remarks", open: printing || (table.remarks.length < 3 && !isNarrow()) }, el("summary", {}, "Notes"),
      el("ul", {}, table.remarks.map((remark) => el("li", {}, remark)))) : null);
}

// Draw one table again, and give the focus back to what had it.
function redraw(table, focus) {
  hideTip();
  writeHash();
  const old = sections.get(table.id);
  const fresh = sectionNode(table);
  const left = old.querySelector(".scroll")?.scrollLeft ?? 0;
  for (const kind of ["[data-chooser]"]) if (old.querySelector(kind)?.open) fresh.querySelector(kind).open = true;
  boxes.unobserve(old.querySelector(".scroll"));
  old.replaceWith(fresh);
  sections.set(table.id, fresh);
  fresh.querySelector(".scroll").scrollLeft = left;
  if (focus) fresh.querySelector(focus)?.focus({ preventScroll: true });
}

function drawAll() {
  hideTip();
  writeHash();
  sections.clear();
  boxes.disconnect();
  const tables = visibleTables().filter((table) => visibleRows(table).length);
  for (const table of tables) sections.set(table.id, sectionNode(table));
  const main = document.getElementById("tables");
  main.replaceChildren(...(sections.size ? sections.values() : [el("p", { class: "none" }, "No table fits. Clear a filter.")]));
  const all = board.tables.reduce((sum, table) => sum + table.methods.length, 0);
  const rows = tables.reduce((sum, table) => sum + visibleRows(table).length, 0);
  sayFilters();
  document.getElementById("count").textContent = `${rows} of ${all} rows, ${tables.length} of ${board.tables.length} tables`;
}

function start() {
  readHash();
  drawFilters();
  drawAll();
}

for (const id of ["drawer", "filters", "count"]) document.getElementById(id).hidden = false;
document.getElementById("drawer").onclick = () => openDrawer(!document.getElementById("filters").classList.contains("open"));
narrowScreen.addEventListener("change", drawAll);
for (const [event, on] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => { printing = on; drawAll(); });
}
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
  openDrawer(true);
  document.getElementById("search").focus();
});
// A link from elsewhere to a part of the page; any other hash is what is chosen, and has a "=".
const part = location.hash.includes("=") ? "" : new URLSearchParams(`at=${location.hash.slice(1)}`).get("at");
const there = part && document.getElementById(part);
start();
if (there) goTo(part);
document.documentElement.classList.add("live");

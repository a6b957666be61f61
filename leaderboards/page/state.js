// State: the board, what is chosen (kept in location.hash), and how elements are made.

// Model output and stored names are never markup: everything goes through text nodes and attributes.
function el(tag, attributes = {}, ...children) {
  const svg = ["svg", "line", "circle", "rect", "polyline", "path", "text", "title", "g"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// The inverse of html.packed(); a browser that cannot inflate (older than 2023) keeps the static tables.
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

// Values by column, of which html.packed() wrote a list for each field; their seeds in the order of the row's.
function prepared(board) {
  for (const table of board.tables) {
    for (const row of [...table.methods, ...table.human]) row.values = valuesOf(row);
    table.byId = new Map([...table.human, ...table.methods].map((row) => [row.id, row]));
  }
  return board;
}

function valuesOf(row) {
  const { column, ...fields } = row.values;
  return new Map(column.map((name, i) => {
    const value = Object.fromEntries(Object.entries(fields).map(([field, all]) => [field, all[i]]));
    value.seeds = row.seeds.length ? row.seeds.map((seed) => value.by_seed[seed] ?? null) : Object.values(value.by_seed);
    return [name, value];
  }));
}

const board = prepared(JSON.parse(await inflated(document.getElementById("board").textContent)));

// What is chosen; empty lists mean all, and what is as at first is not in the link.
const state = { task: "", preset: "", q: "", method: [], papers: true, tables: new Map() };

function chosen(table) {
  if (!state.tables.has(table.id)) {
    state.tables.set(table.id, { sort: "", up: false, columns: null, open: "", sample: "", marks: "rc" });
  }
  return state.tables.get(table.id);
}

function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  state.task = given.get("task") ?? "";
  state.preset = given.get("preset") ?? "";
  state.q = given.get("q") ?? "";
  state.method = given.getAll("method");
  state.papers = given.get("papers") !== "no";
  state.tables.clear();
  for (const table of board.tables) {
    const mine = chosen(table);
    const sort = given.get(`sort:${table.id}`);
    if (sort) [mine.up, mine.sort] = [sort.startsWith("up "), sort.replace(/^(up|down) /, "")];
    if (given.has(`column:${table.id}`)) mine.columns = given.getAll(`column:${table.id}`);
    mine.open = given.get(`open:${table.id}`) ?? "";
    mine.sample = given.get(`sample:${table.id}`) ?? "";
  }
}

function writeHash() {
  const parameters = new URLSearchParams();
  for (const name of ["task", "preset", "q"]) if (state[name]) parameters.set(name, state[name]);
  for (const method of state.method) parameters.append("method", method);
  if (!state.papers) parameters.set("papers", "no");
  for (const table of board.tables) {
    const mine = chosen(table);
    if (mine.sort) parameters.set(`sort:${table.id}`, `${mine.up ? "up" : "down"} ${mine.sort}`);
    for (const column of mine.columns ?? []) parameters.append(`column:${table.id}`, column);
    if (mine.columns && !mine.columns.length) parameters.append(`column:${table.id}`, "");
    if (mine.open) parameters.set(`open:${table.id}`, mine.open);
    if (mine.sample) parameters.set(`sample:${table.id}`, mine.sample);
  }
  const hash = parameters.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

// A value as the grid shows it (leaderboards/render/grid.py), without its interval and marks.
function shown(value) {
  return value.text + (value.fewer ? ` (${value.fewer})` : "");
}

function matches(row, table) {
  if (state.method.length && !state.method.includes(row.method)) return false;
  const text = `${table.title} ${row.label} ${row.backbone} ${row.decoding} ${row.remark}`.toLowerCase();
  return state.q.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function visibleTables() {
  return board.tables.filter((table) =>
    (!state.task || table.task === state.task) && (!state.preset || table.preset === state.preset));
}

function visibleRows(table) {
  const mine = chosen(table);
  const rows = table.methods.filter((row) => matches(row, table));
  if (!mine.sort) return rows;
  const key = sortKey(mine.sort);
  const missing = (x) => x === null || x === undefined || x === "";
  return rows.map((row) => [key(row), row]).sort(([a], [b]) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    const order = typeof a === "string" ? a.localeCompare(b) : a - b;
    return mine.up ? order : -order;
  }).map(([, row]) => row);
}

function sortKey(column) {
  if (column === "method") return (row) => row.label;
  if (column === "backbone") return (row) => row.backbone;
  if (column === "seeds") return (row) => row.n_seeds;
  const name = column.replace(/^= /, "");
  return (row) => row.values.get(name)?.mean;
}

function visibleColumns(table) {
  const wanted = chosen(table).columns;
  return table.columns.filter((column) => (wanted ? wanted.includes(column.name) : column.shown));
}

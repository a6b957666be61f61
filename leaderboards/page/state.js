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

// Values by column, as page.data.packed() wrote them: for each field a list of rows, and in it of columns. Legend and
// remarks are read in the static tables, which are in the same order.
function prepared(board) {
  const statics = document.querySelectorAll("#tables > .board");
  const above = new Map(); // signatures of the rows above, by column
  for (const [at, table] of board.tables.entries()) {
    table.legend = statics[at].querySelector(".legend-line")?.textContent ?? "";
    table.remarks = [...statics[at].querySelectorAll(".remarks li")].map((remark) => remark.textContent);
    [...table.methods, ...table.human].forEach((row, place) => { row.values = valuesOf(row, table.fields, place, above); });
    table.byId = new Map([...table.human, ...table.methods].map((row) => [row.id, row]));
  }
  return board;
}

// What was left out follows from the mean, the half and the rows above; values by seed are in the order of the row's seeds.
function valuesOf(row, fields, place, above) {
  return new Map(fields.column[place].map((name, i) => {
    const value = Object.fromEntries(Object.entries(fields).map(([field, rows]) => [field, rows[place][i]]));
    value.text ??= number(value.mean);
    value.interval ??= number(value.half);
    value.signature ??= above.get(name);
    above.set(name, value.signature);
    value.by_seed ??= [value.mean];
    if (Array.isArray(value.by_seed)) {
      const known = row.seeds.map((seed, at) => [seed, value.by_seed[at]]).filter(([, found]) => found !== null);
      value.by_seed = Object.fromEntries(known);
    }
    value.seeds = row.seeds.length ? row.seeds.map((seed) => value.by_seed[seed] ?? null) : Object.values(value.by_seed);
    return [name, value];
  }));
}

// A number as the grid shows it (grid.number): two decimals, half to even, large whole numbers without.
function number(value) {
  if (value === null) return "";
  const size = Math.abs(value);
  const sign = value < 0 ? "-" : "";
  if (Number.isInteger(size) && size > 100) return sign + String(size);
  if (!Number.isInteger(size * 8) || Number.isInteger(size * 4)) return sign + size.toFixed(2);
  const low = Math.floor(size * 100);
  return sign + ((low % 2 ? low + 1 : low) / 100).toFixed(2);
}

const board = prepared(JSON.parse(await inflated("board")));

// What is chosen; empty lists mean all, and what is as at first is not in the link.
const state = { task: "", preset: "", q: "", method: [], papers: true, tables: new Map() };

function chosen(table) {
  if (!state.tables.has(table.id)) {
    state.tables.set(table.id, { sort: "", up: false, columns: null, metric: "", all: false,
      open: "", sample: "", marks: "rc" });
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
    mine.metric = given.get(`metric:${table.id}`) ?? "";
    mine.all = given.has(`all:${table.id}`);
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
    if (mine.metric) parameters.set(`metric:${table.id}`, mine.metric);
    if (mine.all) parameters.set(`all:${table.id}`, "yes");
    if (mine.open) parameters.set(`open:${table.id}`, mine.open);
    if (mine.sample) parameters.set(`sample:${table.id}`, mine.sample);
  }
  const hash = parameters.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

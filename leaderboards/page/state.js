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

// Values by column, each with its numbers in the order of the row's seeds.
function prepared(board) {
  for (const table of board.tables) {
    for (const row of [...table.methods, ...table.human]) {
      row.values = new Map(Object.entries(row.values));
      for (const value of row.values.values()) {
        value.seeds = row.seeds.length ? row.seeds.map((seed) => value.by_seed[seed] ?? null) : Object.values(value.by_seed);
      }
    }
    table.byId = new Map([...table.human, ...table.methods].map((row) => [row.id, row]));
  }
  return board;
}

const board = prepared(JSON.parse(await inflated("board")));

// What is chosen; empty lists mean all, and what is as at first is not in the link.
const state = { task: "", preset: "", q: "", method: [], papers: true, tables: new Map() };

function chosen(table) {
  if (!state.tables.has(table.id)) {
    state.tables.set(table.id, { sort: "", up: false, columns: null, metric: "", all: false,
      open: "", sample: "" });
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

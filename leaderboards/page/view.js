// View: which tables, rows and columns are shown.

// A long table shows its first rows until all are asked for; on a small screen every table is folded to two.
const [LONG, FIRST_ROWS, NARROW_LONG] = [30, 12, 3];

const narrowScreen = matchMedia("(max-width: 700px)");
let printing = false;

// On a small screen a table has one metric, which is picked. Paper has them all.
function isNarrow() {
  return narrowScreen.matches && !printing;
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

// The metric of a small screen: the one that was picked, or the first that is shown.
function pickedColumn(table) {
  const { metric } = chosen(table);
  return table.columns.find((column) => column.name === metric) ?? visibleColumns(table)[0] ?? table.columns[0];
}

function shownColumns(table) {
  if (isNarrow()) return table.columns.length ? [pickedColumn(table)] : [];
  return visibleColumns(table);
}

function canFold(table) {
  return visibleRows(table).length > (isNarrow() ? NARROW_LONG : LONG);
}

// Whoever filters rows wants to see what fits; paper cannot be unfolded.
function isFolded(table) {
  return canFold(table) && !chosen(table).all && !state.q && !state.method.length && !printing;
}

function shownRows(table) {
  const rows = visibleRows(table);
  if (!isFolded(table)) return rows;
  const leader = leaderOf(table, rows);
  const kept = [leader, baselineOf(table, rows, leader)].filter(Boolean);
  if (isNarrow()) return [...new Set(kept)];
  return rows.filter((row, i) => i < FIRST_ROWS || kept.includes(row));
}

// The first row where rows are sorted, else the best of the metric that stands first.
function leaderOf(table, rows) {
  const column = shownColumns(table)[0];
  const better = column?.higher_is_better ?? null;
  if (chosen(table).sort || better === null) return rows[0];
  const mean = (row) => row.values.get(column.name)?.mean ?? null;
  const measured = rows.filter((row) => mean(row) !== null);
  const ahead = (a, b) => (better ? mean(a) > mean(b) : mean(a) < mean(b));
  return measured.reduce((best, row) => (ahead(row, best) ? row : best), measured[0] ?? rows[0]);
}

// The row of maximum likelihood, of the leader's backbone and decoding where there is one.
function baselineOf(table, rows, leader) {
  const baselines = rows.filter((row) => row.method === "mle");
  return baselines.find((row) => row.backbone === leader.backbone && row.decoding === leader.decoding) ?? baselines[0];
}

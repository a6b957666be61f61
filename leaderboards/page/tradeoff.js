// Trade-off: quality against diversity. The decodings of one model are the points of a line; nothing is extrapolated.
const AXES = [["self-bleu-2", "kld"], ["self-bleu-2", "ms-jaccard-1"], ["distinct-1", "rouge-l"]];

function sweeps(table, axes) {
  const groups = new Map();
  for (const row of visibleRows(table)) {
    const [x, y] = axes.map((name) => row.values.get(name)?.mean ?? null);
    const key = `${row.method} ${row.cells.join(" ")}`;
    const says = axes.map((name) => `${name} ${row.values.get(name)?.text}`).join(", ");
    if (x !== null && y !== null) groups.set(key, [...(groups.get(key) ?? []), { row, x, y, says }]);
  }
  return [...groups.values()].map((points) => points.sort((a, b) => a.x - b.x));
}

// A row's label without its decoding.
function modelName(row) {
  return row.decoding ? row.label.replace(`, ${row.decoding}`, "").replace(` (${row.decoding})`, "") : row.label;
}

function axesOf(table) {
  return AXES.find((axes) => sweeps(table, axes).some((points) => points.length > 1));
}

function tradeoffNode(table) {
  const axes = axesOf(table);
  if (!axes) return el("p", { class: "soft" }, "No method of the rows shown has two decodings.");
  const lines = sweeps(table, axes);
  const people = table.human.map((row) => axes.map((name) => row.values.get(name)?.mean ?? null)).find(([x]) => x !== null);
  const every = lines.flat();
  const range = (name) => {
    const values = [...every.map((point) => point[name]), ...(people ? [people[name === "x" ? 0 : 1]] : [])];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return [low - 0.05 * (high - low || 1), high + 0.05 * (high - low || 1)];
  };
  const [width, height, left, bottom] = [chartWidth(), 320, 52, 40];
  const [[x0, x1], [y0, y1]] = [range("x"), range("y")];
  const x = (value) => left + ((width - left - 20) * (value - x0)) / (x1 - x0);
  const y = (value) => 10 + ((height - bottom - 10) * (y1 - value)) / (y1 - y0);
  const drawn = el("svg", { class: "curves", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${axes[1]} by ${axes[0]}` });
  for (const at of niceTicks(y0, y1, 5)) {
    drawn.append(el("line", { class: "rule", x1: left, x2: width - 20, y1: y(at), y2: y(at) }),
      el("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, String(at)));
  }
  for (const at of niceTicks(x0, x1, chartWidth() / 120)) drawn.append(el("text", { x: x(at), y: height - 20, "text-anchor": "middle" }, String(at)));
  drawn.append(el("text", { x: width / 2, y: height - 4, "text-anchor": "middle" }, axes[0]));
  lines.forEach((points, at) => {
    const style = `curve c${at % PALETTE}${at >= PALETTE ? " dashed" : ""}`;
    const id = points[0].row.id;
    drawn.append(el("polyline", { class: style, "data-of": id, points: points.map((p) => `${x(p.x).toFixed(1)},${y(p.y).toFixed(1)}`).join(" ") }));
    for (const point of points) {
      drawn.append(el("circle", { class: style, "data-of": id, cx: x(point.x), cy: y(point.y), r: 3 },
        el("title", {}, `${point.row.label} ${point.row.decoding}: ${point.says}`)));
    }
  });
  if (people && people[1] !== null) {
    drawn.append(el("circle", { class: "people-dot", cx: x(people[0]), cy: y(people[1]), r: 4 }, el("title", {}, "human")),
      el("text", { x: x(people[0]), y: y(people[1]) - 8, "text-anchor": "middle" }, "human"));
  }
  const legend = el("div", { class: "legend" }, lines.map(([first], at) => legendButton(table, drawn, first.row.id, at, modelName(first.row))));
  return el("div", {}, el("p", { class: "soft" }, `${axes[1]} by ${axes[0]}, means over seeds: compare methods at equal ${axes[0]}.`), drawn, legend);
}

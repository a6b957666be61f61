// Charts: whiskers and training curves.

const PALETTE = 8;

// The range of a column over the rows shown, intervals and single seeds within it.
function domain(rows, column) {
  const ends = rows.flatMap((row) => {
    const value = row.values.get(column);
    if (!value || value.mean === null) return [];
    const half = value.half ?? 0;
    return [value.mean - half, value.mean + half, ...value.seeds.filter((x) => x !== null)];
  });
  if (!ends.length) return null;
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  return high > low ? [low, high] : [low - 1, high + 1];
}

// Ticks are seeds, the line the interval, the dot the mean.
function whisker(value, range) {
  const at = (x) => (3 + (54 * (Math.min(Math.max(x, range[0]), range[1]) - range[0])) / (range[1] - range[0])).toFixed(1);
  const drawn = el("svg", { class: "whisker", viewBox: "0 0 60 8", "aria-hidden": "true" },
    el("line", { class: "rail", x1: 3, x2: 57, y1: 4, y2: 4 }));
  for (const x of value.n_seeds > 1 ? value.seeds : []) {
    if (x !== null) drawn.append(el("line", { class: "seed", x1: at(x), x2: at(x), y1: 1.5, y2: 6.5 }));
  }
  if (value.half !== null) {
    drawn.append(el("line", { class: "span", x1: at(value.mean - value.half), x2: at(value.mean + value.half), y1: 4, y2: 4 }));
  }
  drawn.append(el("circle", { class: value.best ? "dot best" : "dot", cx: at(value.mean), cy: 4, r: 2 }));
  return drawn;
}

function niceTicks(low, high, n) {
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough);
  const ticks = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step / 1e6; x += step) ticks.push(Number(x.toPrecision(6)));
  return ticks;
}

// In the units of a drawing: about as many as pixels, so that its text keeps its size.
function chartWidth() {
  return isNarrow() ? 340 : 720;
}

// One line a seed; a colour a row, as long as there are colours.
function curvesNode(table) {
  const ids = visibleRows(table).map((row) => row.id).filter((id) => table.curves.some((curve) => curve.id === id));
  const curves = table.curves.filter((curve) => ids.includes(curve.id));
  if (!curves.length) return el("p", { class: "soft" }, "No curve of the rows shown.");
  const points = curves.flatMap((curve) => [...curve.points, ...(curve.validation ?? [])]);
  const [width, height, left, bottom] = [chartWidth(), 280, 44, 30];
  const right = Math.max(...points.map(([step]) => step));
  const losses = points.map(([, loss]) => loss).sort((a, b) => a - b);
  const low = losses[0];
  const high = losses.at(-1) > low ? losses.at(-1) : low + 1;
  const x = (step) => left + ((width - left - 20) * step) / right;
  const y = (loss) => 10 + ((height - bottom - 10) * (high - loss)) / (high - low);
  const drawn = el("svg", { class: "curves", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Training loss by step: ${ids.map((id) => table.byId.get(id)?.label ?? id).join(", ")}` });
  for (const loss of niceTicks(low, high, 5)) {
    drawn.append(el("line", { class: "rule", x1: left, x2: width - 20, y1: y(loss), y2: y(loss) }),
      el("text", { x: left - 8, y: y(loss) + 4, "text-anchor": "end" }, String(loss)));
  }
  for (const step of niceTicks(0, right, chartWidth() / 120)) {
    drawn.append(el("text", { x: x(step), y: height - 10, "text-anchor": "middle" }, String(step)));
  }
  for (const curve of curves) {
    const at = ids.indexOf(curve.id);
    drawn.append(el("polyline", { class: `curve c${at % PALETTE}${at >= PALETTE ? " dashed" : ""}`, "data-of": curve.id,
      points: curve.points.map(([step, loss]) => `${x(step).toFixed(1)},${y(loss).toFixed(1)}`).join(" ") },
    el("title", {}, `${table.byId.get(curve.id)?.label ?? curve.id}, seed ${curve.seed}`)));
    for (const [step, loss] of curve.validation ?? []) {
      const kept = step === curve.kept;
      drawn.append(el("circle", { class: `curve c${at % PALETTE}`, "data-of": curve.id, cx: x(step), cy: y(loss), r: kept ? 5 : 2.5 },
        el("title", {}, `validation at step ${step}: ${loss}${kept ? ", the step that was kept" : ""}`)));
    }
  }
  const validated = curves.some((curve) => curve.validation) ? " Dots: loss on the validation split, the kept step larger." : "";
  const legend = el("div", { class: "legend" }, ids.map((id, at) => legendButton(table, drawn, id, at)));
  return el("div", {}, el("p", { class: "soft" }, "Training loss by step; a line a seed, of a row's first three. Losses of different objectives are not on one scale." + validated),
    drawn, legend);
}

function legendButton(table, drawn, id, at, name = table.byId.get(id)?.label ?? id) {
  const light = (on) => {
    drawn.classList.toggle("picked", on);
    for (const line of drawn.querySelectorAll("[data-of]")) line.classList.toggle("on", on && line.dataset.of === id);
  };
  return el("button", { type: "button", class: `key c${at % PALETTE}${at >= PALETTE ? " dashed" : ""}`, "aria-label": `Show ${name} alone`,
    onmouseenter: () => light(true), onmouseleave: () => light(false), onfocus: () => light(true), onblur: () => light(false) },
  el("span", { class: "swatch", "aria-hidden": "true" }), name);
}

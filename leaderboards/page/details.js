// Details: what stands behind a number (its tip) and behind a row (settings, and links to the records of its cells).

function tipOf(table, row, head, value) {
  const better = head.better === null ? "" : head.better ? " · higher is better" : " · lower is better";
  const parts = [el("b", {}, `${row.method} · ${head.name}`)];
  if (value.mean !== null) {
    parts.push(el("p", { class: "big" }, precise(value.mean), value.half === null ? "" : ` ± ${precise(value.half)}`));
  }
  const about = [["n", `${value.n_seeds} ${value.n_seeds === 1 ? "seed" : "seeds"}${value.half === null ? ", no interval" : ""}${better}`]];
  if (Object.keys(value.by_seed).length > 1 || value.conflict) about.push(["by seed", bySeed(row, value)]);
  if (value.why) about.push(["n/a", value.why]);
  if (value.conflict) about.push(["conflict", "one seed has two different numbers: never averaged"]);
  if (value.difference !== null) {
    const baseline = table.byId.get(value.against)?.label ?? "the baseline";
    const ends = value.low === null ? "" : ` (${signed(value.low)} to ${signed(value.high)} over seeds)`;
    about.push([`Δ ${baseline}`, `${signed(value.difference)}${ends}`]);
    const probability = (p) => (p < 0.001 ? "< 0.001" : p.toFixed(3));
    if (value.p !== null) about.push(["p over seeds", probability(value.p)]);
    if (value.p_items !== null) about.push(["p over test items", probability(value.p_items)]);
  }
  const reasons = new Set();
  for (const paper of table.published) {
    const printed = paper.method === row.method ? paper.texts[head.name] : undefined;
    if (printed === undefined) continue;
    const delta = paper.deltas[row.id]?.[head.name];
    about.push([paper.name, `${printed} (${paper.backbone})${delta ? `, Δ ${delta}` : ""}`]);
    if (paper.why_not) reasons.add(paper.why_not);
  }
  for (const why of reasons) about.push(["not comparable", why]);
  about.push(["signature", el("code", {}, breakable(value.signature))]);
  parts.push(listOf(about));
  return parts;
}

function bySeed(row, value) {
  const named = value.seeds.length === row.seeds.length;
  return value.seeds.map((x, i) => [x, i]).filter(([x]) => x !== null)
    .map(([x, i]) => (named ? `${row.seeds[i]}: ${precise(x)}` : precise(x))).join(" · ");
}

function signed(value) {
  const size = Math.abs(value);
  return (value < 0 ? "−" : "+") + (Number.isInteger(size) && size > 100 ? String(size) : size.toFixed(2));
}

function precise(value) {
  return String(Number(value.toPrecision(5)));
}

function listOf(about) {
  return el("dl", {}, about.flatMap(([term, what]) => [el("dt", {}, term), el("dd", {}, what)]));
}

function showTip(cell, content) {
  const tip = document.getElementById("tip");
  tip.replaceChildren(...content);
  tip.hidden = false;
  cell.setAttribute("aria-describedby", "tip");
  placeTip(cell);
}

function placeTip(cell) {
  const tip = document.getElementById("tip");
  const box = cell.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = Math.min(Math.max(8, box.left + box.width / 2 - width / 2), innerWidth - width - 8);
  const below = box.bottom + 8 + height < innerHeight || box.top < height + 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? box.bottom + 6 : box.top - height - 6}px`;
}

// The tip of a cell with the focus goes with it, since the focus itself may have scrolled the page.
function keepTip() {
  const cell = document.querySelector("[aria-describedby=tip]");
  if (cell && cell === document.activeElement) placeTip(cell);
  else hideTip();
}

function hideTip() {
  document.getElementById("tip").hidden = true;
  document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
}

function detailsNode(table, row) {
  const about = [["settings", row.settings || "those of its preset"]];
  if (row.decoding) about.push(["decoding", row.decoding]);
  about.push(["backbone", row.backbone || "none"], ["seeds", row.seeds.join(", ")]);
  if (row.diverged) about.push(["diverged", `${row.diverged} of ${row.seeds.length}: never numbers`]);
  if (row.picked) about.push(["tuned", row.picked]);
  if (row.untuned) about.push(["untuned", row.untuned]);
  if (row.controls.length) about.push(["control", `would explain a gain of ${row.controls.join(", ")} away`]);
  if (row.remark) about.push(["remark", row.remark]);
  about.push(["records", row.cells.flatMap((key, i) => [i ? " · " : "", recordLink(row, key)])]);
  return listOf(about);
}

// Always relative, whatever the names are: "./" first and every part encoded.
function recordLink(row, key) {
  if (typeof board.records !== "string") return el("code", {}, key);
  const parts = [...board.records.split("/"), ...row.folder.split("/"), key, "trained.json"].filter(Boolean);
  return el("a", { href: `./${parts.map(encodeURIComponent).join("/")}` }, el("code", {}, key));
}

// Samples: what the rows wrote for one example, side by side.

function samplesNode(table) {
  const mine = chosen(table);
  const at = Math.max(0, table.samples.findIndex((sample) => sample.id === mine.sample));
  const sample = table.samples[at];
  const rows = visibleRows(table).filter((row) => sample.texts[row.id] !== undefined);
  const go = (to, focus) => {
    mine.sample = table.samples[(to + table.samples.length) % table.samples.length].id;
    redraw(table, focus);
  };
  const picker = el("select", { "aria-label": "Example", "data-pick": "sample", onchange: (event) => go(event.target.selectedIndex, "[data-pick=sample]") },
    table.samples.map((example, i) => el("option", { selected: i === at }, example.id)));
  const cards = [];
  if (sample.reference) cards.push(card("reference", sample.reference, "reference"));
  for (const row of rows) cards.push(card(row.label, sample.texts[row.id]));
  return el("div", { class: "samples" },
    el("div", { class: "bar-of" },
      el("button", { type: "button", "data-go": "back", "aria-label": "Example before", onclick: () => go(at - 1, "[data-go=back]") }, "←"), picker,
      el("button", { type: "button", "data-go": "on", "aria-label": "Next example", onclick: () => go(at + 1, "[data-go=on]") }, "→"),
      el("span", { class: "soft" }, `${at + 1} of ${table.samples.length}${table.samples_left_out ? `, ${table.samples_left_out} left out; bench samples shows them` : ""}`)),
    table.samples_note && el("p", { class: "soft" }, table.samples_note),
    sample.prompt && el("blockquote", { class: "prompt" }, el("span", { class: "soft" }, "Prompt"), el("p", {}, sample.prompt)),
    el("div", { class: "cards" }, cards.length ? cards : el("p", { class: "soft" }, "No text of the rows shown.")));
}

function card(label, text, kind = "") {
  return el("article", { class: `card ${kind}` }, el("h3", {}, label),
    el("p", {}, text.trim() ? text : el("span", { class: "soft" }, "(empty)")));
}

// Samples: what the rows wrote for one example, side by side, repeats and copied spans marked.

const SPAN = 3;

function words(text) {
  const tokens = [];
  for (const match of text.matchAll(/\S+/g)) {
    const bare = match[0].toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
    tokens.push({ word: bare || match[0], start: match.index, end: match.index + match[0].length });
  }
  return tokens;
}

function spansOf(tokens) {
  return tokens.slice(SPAN - 1).map((_, i) => tokens.slice(i, i + SPAN).map((token) => token.word).join(" "));
}

// Mark every word of three in a row that were there before, in the text itself (repeat) or in its prompt (copied).
function marked(text, prompt) {
  const tokens = words(text);
  const known = new Set(spansOf(words(prompt)));
  const before = new Set();
  spansOf(tokens).forEach((span, i) => {
    for (let at = i; at < i + SPAN; at += 1) {
      if (before.has(span)) tokens[at].repeat = true;
      if (known.has(span)) tokens[at].copied = true;
    }
    before.add(span);
  });
  const kind = (token) => [token?.repeat && "repeat", token?.copied && "copied"].filter(Boolean).join(" ");
  const pieces = [];
  let end = 0;
  for (let i = 0; i < tokens.length;) {
    let last = i;
    while (last + 1 < tokens.length && kind(tokens[last + 1]) === kind(tokens[i])) last += 1;
    pieces.push(text.slice(end, tokens[i].start));
    const part = text.slice(tokens[i].start, tokens[last].end);
    const classes = kind(tokens[i]);
    pieces.push(classes ? el("mark", { class: classes, title: classes.replace(" ", " and ") }, part) : part);
    end = tokens[last].end;
    i = last + 1;
  }
  pieces.push(text.slice(end));
  return pieces.filter((part) => part !== "");
}

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
  if (sample.reference) cards.push(card("reference", sample.reference, sample.prompt, mine.marks, "reference"));
  for (const row of rows) cards.push(card(row.label, sample.texts[row.id], sample.prompt, mine.marks));
  return el("div", { class: "samples" },
    el("div", { class: "bar-of" },
      el("button", { type: "button", "data-go": "back", "aria-label": "Example before", onclick: () => go(at - 1, "[data-go=back]") }, "←"), picker,
      el("button", { type: "button", "data-go": "on", "aria-label": "Next example", onclick: () => go(at + 1, "[data-go=on]") }, "→"),
      el("span", { class: "soft" }, `${at + 1} of ${table.samples.length}${table.samples_left_out ? `, ${table.samples_left_out} left out; bench samples shows them` : ""}`),
      markSwitch(table, "r", "repeat", "Repeats"), sample.prompt ? markSwitch(table, "c", "copied", "Copied from the prompt") : null),
    table.samples_note && el("p", { class: "soft" }, table.samples_note),
    sample.prompt && el("blockquote", { class: "prompt" }, el("span", { class: "soft" }, "Prompt"), el("p", {}, sample.prompt)),
    el("div", { class: "cards" }, cards.length ? cards : el("p", { class: "soft" }, "No text of the rows shown.")));
}

function card(label, text, prompt, marks, kind = "") {
  const classes = ["text-of", marks.includes("r") && "repeats", marks.includes("c") && "copies-on"];
  return el("article", { class: `card ${kind}` }, el("h3", {}, label),
    el("p", { class: classes.filter(Boolean).join(" ") }, text.trim() ? marked(text, prompt) : el("span", { class: "soft" }, "(empty)")));
}

function markSwitch(table, letter, kind, label) {
  const mine = chosen(table);
  const on = mine.marks.includes(letter);
  return el("button", { type: "button", class: "switch", "aria-pressed": String(on), "data-mark": letter, onclick: () => {
    mine.marks = on ? mine.marks.replace(letter, "") : mine.marks + letter;
    redraw(table, `[data-mark=${letter}]`);
  } }, el("mark", { class: kind }, label));
}

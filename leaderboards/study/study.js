// A study: a start, one screen an item, an end where answers are saved. Texts become text nodes, never markup.
const study = JSON.parse(document.getElementById("content").textContent);
const pairwise = study.kind === "pairwise";
const screenOf = document.getElementById("screen");
const state = { rater: "", at: -1, slot: 0, answers: {}, seconds: {} };
let since = Date.now();

// Slots: what is asked about an item, in order; `text` is empty where a question is about the pair.
const slots = (item) => pairwise
  ? study.questions.map((question) => ({ question, text: "" }))
  : item.texts.flatMap(({ label }) => study.questions.map((question) => ({ question, text: label })));
const nameOf = (slot) => slot.text ? `${slot.question.name}_${slot.text}` : slot.question.name;
const given = (item) => state.answers[item.id] ??= {};
const isDone = (item) => slots(item).every((slot) => given(item)[nameOf(slot)]);
const doneCount = () => study.items.filter(isDone).length;

// Kept in this browser, by study and rater; what is kept is believed only as far as it fits the study.
const place = (rater) => `${study.study}:${rater}`;
const known = (value) => typeof value === "object" && value !== null ? value : {};

function keep() {
  try {
    localStorage.setItem(study.study, state.rater);
    localStorage.setItem(place(state.rater), JSON.stringify({ at: state.at, answers: state.answers, seconds: state.seconds }));
  } catch {
    say("This browser keeps nothing: save your answers before you close the page.");
  }
}

function recall(rater) {
  Object.assign(state, { rater, at: 0, slot: 0, answers: {}, seconds: {} });
  let kept = {};
  try {
    kept = known(JSON.parse(localStorage.getItem(place(rater))));
  } catch {
    kept = {};
  }
  for (const item of study.items) {
    const old = known(known(kept.answers)[item.id]);
    for (const slot of slots(item)) {
      const answer = old[nameOf(slot)];
      if (slot.question.answers.some(({ value }) => value === answer)) given(item)[nameOf(slot)] = answer;
    }
    const seconds = known(kept.seconds)[item.id];
    if (Number.isFinite(seconds)) state.seconds[item.id] = seconds;
  }
  if (Number.isInteger(kept.at) && kept.at >= 0 && kept.at <= study.items.length) state.at = kept.at;
}

function lastRater() {
  try {
    return localStorage.getItem(study.study) ?? "";
  } catch {
    return "";
  }
}

// Screens ----------------------------------------------------------------------------------------------------------

function make(tag, about = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (name === "click") element.addEventListener("click", value);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...inside);
  return element;
}

const say = (text) => { document.getElementById("notice").textContent = text; };
const quote = (text) => make("p", { class: "text", dir: "auto" }, text);

function show(focus = true) {
  say("");
  since = Date.now();
  const item = study.items[state.at];
  const parts = state.at < 0 ? startScreen() : item ? itemScreen(item) : endScreen();
  screenOf.replaceChildren(...parts);
  if (focus) screenOf.focus();
  progress();
}

function progress() {
  const n = study.items.length;
  const at = state.at >= 0 && state.at < n ? `${state.at + 1} of ${n} · ` : "";
  document.getElementById("progress").textContent = state.at < 0 ? `${n} items` : `${at}${doneCount()} done`;
  document.querySelector("#bar i").style.width = `${state.at < 0 ? 0 : 100 * doneCount() / n}%`;
}

function startScreen() {
  const input = make("input", { id: "rater", maxlength: "40", autocomplete: "off", spellcheck: "false" });
  input.value = lastRater();
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") start(input.value); });
  return [
    make("section", { class: "card" }, make("p", {}, study.about), make("ul", {}, ...study.questions.map((question) =>
      make("li", {}, make("b", {}, `${question.title}. `), question.about)))),
    make("section", { class: "card" },
      make("p", {}, "Nothing is sent anywhere. Your answers stay in this browser; at the end you save them as a file and hand it in. "
        + "You can close the page and go on later with the same name."),
      make("p", {}, make("label", { for: "rater" }, "Your name or number: "), input),
      make("nav", {}, make("button", { type: "button", class: "main", id: "start", click: () => start(input.value) }, "Start"))),
  ];
}

function start(text) {
  const rater = text.trim();
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u.test(rater)) {
    say("Please give a name of letters and digits.");
    return;
  }
  recall(rater);
  keep();
  show();
}

function itemScreen(item) {
  const all = slots(item);
  const open = all.findIndex((slot) => !given(item)[nameOf(slot)]);
  state.slot = open < 0 ? 0 : open;
  const parts = [make("section", { class: "card context" }, make("h2", {}, pairwise ? "Beginning" : "Source"), quote(item.context))];
  const card = ({ label, text }, ...more) => make("section", { class: "card" }, make("h2", {}, label), quote(text), ...more);
  const ask = (slot) => choice(item, slot, all.findIndex((one) => nameOf(one) === nameOf(slot)));
  if (pairwise) {
    parts.push(make("div", { class: "pair" }, ...item.texts.map((text) => card(text))), ...all.map(ask));
  } else {
    parts.push(...item.texts.map((text) => card(text, ...all.filter((slot) => slot.text === text.label).map(ask))));
  }
  parts.push(make("nav", {},
    make("button", { type: "button", id: "back", click: () => move(-1) }, "Back"),
    make("button", { type: "button", id: "next", class: "main", click: () => move(1) }, "Next"),
    make("p", { class: "hint" }, `Keys: ${pairwise ? "1 2 3" : "1 2"} answer, ↑ ↓ choose a question, ← back, → next`)));
  queueMicrotask(mark);
  return parts;
}

function choice(item, slot, i) {
  const buttons = slot.question.answers.map(({ value, label }, k) =>
    make("button", { type: "button", "data-value": value, "aria-pressed": "false", click: () => answer(item, i, value) },
      make("kbd", { "aria-hidden": "true" }, String(k + 1)), label));
  return make("fieldset", { "data-slot": nameOf(slot) },
    make("legend", {}, `${slot.question.title} `, make("small", {}, slot.question.about)), ...buttons);
}

function mark() {
  const item = study.items[state.at];
  if (!item) return;
  const all = slots(item);
  for (const field of screenOf.querySelectorAll("fieldset")) {
    field.classList.toggle("now", field.dataset.slot === nameOf(all[state.slot]));
    for (const button of field.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(given(item)[field.dataset.slot] === button.dataset.value));
    }
  }
  progress();
}

function answer(item, i, value) {
  const all = slots(item);
  given(item)[nameOf(all[i])] = value;
  const open = all.findIndex((slot) => !given(item)[nameOf(slot)]);
  state.slot = open < 0 ? i : open;
  say("");
  spend();
  keep();
  mark();
  screenOf.querySelector("fieldset.now")?.scrollIntoView({ block: "nearest" });
}

function spend() {
  const item = study.items[state.at];
  const now = Date.now();
  if (item) state.seconds[item.id] = Math.round(((state.seconds[item.id] ?? 0) + (now - since) / 1000) * 10) / 10;
  since = now;
}

function move(step) {
  const item = study.items[state.at];
  if (step > 0 && item && !isDone(item)) {
    say("Please answer every question first.");
    return;
  }
  spend();
  state.at = Math.max(0, Math.min(study.items.length, state.at + step));
  keep();
  show();
}

function endScreen() {
  const open = study.items.length - doneCount();
  return [make("section", { class: "card" },
    make("p", {}, open ? `${open} items are still open.` : "That was all. Thank you!"),
    make("p", {}, "Save your answers and hand the file in; one of the two is enough."),
    make("nav", {},
      make("button", { type: "button", id: "csv", class: "main", click: () => save("csv", asCsv()) }, "Save as CSV"),
      make("button", { type: "button", id: "json", click: () => save("json", asJson()) }, "Save as JSON"),
      make("button", { type: "button", id: "back", click: () => move(-1) }, "Back"),
      ...(open ? [make("button", { type: "button", click: () => goToOpen() }, "To the first open item")] : [])))];
}

function goToOpen() {
  state.at = study.items.findIndex((item) => !isDone(item));
  keep();
  show();
}

// Saving -----------------------------------------------------------------------------------------------------------

const answered = () => study.items.flatMap((item) => slots(item).filter((slot) => given(item)[nameOf(slot)]).map((slot) => ({
  item: item.id, text: slot.text, question: slot.question.name, answer: given(item)[nameOf(slot)],
  seconds: state.seconds[item.id] ?? 0,
})));

function asCsv() {
  const cell = (value) => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  const rows = answered().map((one) => [study.study, study.content, state.rater, one.item, one.text, one.question, one.answer, one.seconds]);
  const lines = [["study", "content", "rater", "item", "text", "question", "answer", "seconds"], ...rows];
  return lines.map((row) => row.map((value) => cell(String(value))).join(",") + "\n").join("");
}

const asJson = () => JSON.stringify({ schema: 1, study: study.study, content: study.content, rater: state.rater, answers: answered() }, null, 1) + "\n";

function save(ending, text) {
  const url = URL.createObjectURL(new Blob([text], { type: ending === "csv" ? "text/csv" : "application/json" }));
  make("a", { href: url, download: `answers-${state.rater.replaceAll(" ", "-")}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  say(`Saved as answers-${state.rater.replaceAll(" ", "-")}.${ending}, where your browser puts downloads.`);
}

// Keys -------------------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const item = study.items[state.at];
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT" || state.at < 0) return;
  const moves = { ArrowRight: 1, ArrowLeft: -1 };
  if (event.key in moves) {
    if (!item && event.key === "ArrowRight") return;
    move(moves[event.key]);
  } else if (event.key === "Enter" && item && event.target.tagName !== "BUTTON") {
    move(1);
  } else if (item && /^[1-9]$/.test(event.key)) {
    const slot = slots(item)[state.slot];
    const chosen = slot.question.answers[Number(event.key) - 1];
    if (chosen && !event.repeat) answer(item, state.slot, chosen.value);
  } else if (item && (event.key === "ArrowDown" || event.key === "ArrowUp") && !event.shiftKey) {
    const n = slots(item).length;
    state.slot = (state.slot + (event.key === "ArrowDown" ? 1 : n - 1)) % n;
    mark();
  } else {
    return;
  }
  event.preventDefault();
});

show(false);

// Filters of the page: tasks, presets, methods, words; on a small screen behind a button.

function select(name, all) {
  const known = [...new Set(board.tables.map((table) => table[name]))];
  const node = el("select", { id: `by-${name}`, onchange: () => { state[name] = node.value; drawAll(); } },
    el("option", { value: "" }, all), known.map((value) => el("option", { value: value }, value)));
  node.value = state[name];
  return el("label", {}, el("span", { class: "sr" }, name), node);
}

function methodFilter() {
  const known = [...new Set(board.tables.flatMap((table) => table.methods.map((row) => row.method)))].sort();
  const label = () => (state.method.length ? `Methods ${state.method.length}/${known.length}` : "All methods");
  const boxes = known.map((method) => {
    const box = el("input", { type: "checkbox", value: method, onchange: () => {
      state.method = box.checked ? [...state.method, method] : state.method.filter((name) => name !== method);
      list.querySelector("summary").textContent = label();
      drawAll();
    } });
    box.checked = state.method.includes(method);
    return el("label", {}, box, method);
  });
  const list = popover("methods", label(), boxes);
  return list;
}

function drawFilters() {
  const search = el("input", { type: "search", id: "search", placeholder: "Search rows", "aria-label": "Search rows",
    autocomplete: "off", spellcheck: "false", oninput: () => { state.q = search.value.trim(); drawAll(); } });
  search.value = state.q;
  const papers = el("input", { type: "checkbox", id: "papers", onchange: () => { state.papers = papers.checked; drawAll(); } });
  papers.checked = state.papers;
  const form = document.getElementById("filters");
  form.replaceChildren(search, select("task", "All tasks"), select("preset", "All presets"), methodFilter(),
    el("label", { class: "check" }, papers, "Published rows"),
    el("button", { type: "button", id: "reset", onclick: () => { history.replaceState(null, "", location.pathname + location.search); start(); } }, "Reset"));
  form.onsubmit = (event) => event.preventDefault();
}

// On a small screen; on a wide one the filters are always there.
function openDrawer(open) {
  document.getElementById("filters").classList.toggle("open", open);
  document.getElementById("drawer").setAttribute("aria-expanded", String(open));
}

function sayFilters() {
  const set = [state.task, state.preset, state.q, state.method.length, !state.papers].filter(Boolean).length;
  document.getElementById("drawer").textContent = set ? `Filters (${set})` : "Filters";
}

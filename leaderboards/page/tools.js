// Tools of one table: the choice of columns, the metric of a small screen, rows that are folded away.

function columnChooser(table) {
  const boxes = table.columns.map((column) => {
    const box = el("input", { type: "checkbox", value: column.name, onchange: () => {
      const wanted = new Set(visibleColumns(table).map((candidate) => candidate.name));
      if (box.checked) wanted.add(column.name);
      else wanted.delete(column.name);
      const names = table.columns.filter((candidate) => wanted.has(candidate.name)).map((candidate) => candidate.name);
      const asAtFirst = table.columns.every((candidate) => candidate.shown === wanted.has(candidate.name));
      chosen(table).columns = asAtFirst ? null : names;
      redraw(table, `[data-chooser] input[value="${CSS.escape(column.name)}"]`);
    } });
    box.checked = visibleColumns(table).includes(column);
    return el("label", {}, box, column.name);
  });
  return popover("chooser", `Columns ${visibleColumns(table).length}/${table.columns.length}`, boxes, table.id);
}

// A list behind a button; Escape and a click elsewhere close it.
function popover(kind, label, content, id = "") {
  const summary = el("summary", {}, label);
  return el("details", { class: "popover", [`data-${kind}`]: id, onkeydown: (event) => {
    if (event.key !== "Escape") return;
    event.currentTarget.open = false;
    summary.focus();
  } }, summary, el("div", { class: "list" }, content));
}

// Moving along the options draws the table each time; the focus stays here.
function metricPicker(table) {
  const option = (column) => {
    const way = { true: " ↑", false: " ↓", null: "" }[column.higher_is_better];
    return el("option", { value: column.name }, column.name + way);
  };
  const more = table.columns.filter((column) => !visibleColumns(table).includes(column));
  const node = el("select", { "data-metric": "", onchange: () => {
    chosen(table).metric = node.value;
    redraw(table, "[data-metric]");
  } }, visibleColumns(table).map(option), more.length ? el("optgroup", { label: "More" }, more.map(option)) : null);
  node.value = pickedColumn(table)?.name ?? "";
  return el("label", { class: "picker" }, "Metric", node);
}

function foldButton(table) {
  const [all, folded] = [visibleRows(table).length, isFolded(table)];
  return el("button", { type: "button", class: "unfold", "data-fold": "", "aria-expanded": String(!folded), onclick: () => {
    chosen(table).all = folded;
    redraw(table, "[data-fold]");
  } }, folded ? `Show all ${all} rows` : "Show fewer rows");
}

// Says how many columns stand outside the box of a table; a click brings them in.
const boxes = new ResizeObserver((entries) => entries.forEach((entry) => entry.target.dispatchEvent(new Event("scroll"))));

function overflowCue(scroll) {
  const cue = el("button", { type: "button", class: "cue", hidden: true, onclick: () => {
    const atEnd = scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 1;
    scroll.scrollTo({ left: atEnd ? 0 : scroll.scrollLeft + scroll.clientWidth / 2 });
  } });
  scroll.addEventListener("scroll", () => {
    const edge = scroll.getBoundingClientRect().right + 1;
    const outside = [...scroll.querySelectorAll("thead th")].filter((head) => head.getBoundingClientRect().right > edge);
    cue.hidden = scroll.scrollWidth <= scroll.clientWidth + 1;
    cue.textContent = outside.length ? `${outside.length} more ${outside.length === 1 ? "column" : "columns"} →` : "← First columns";
  }, { passive: true });
  boxes.observe(scroll);
  return cue;
}

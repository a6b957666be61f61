// Copy: what a table shows now, as Markdown, LaTeX or CSV.

function linesOf(table) {
  const columns = visibleColumns(table);
  const lines = [];
  const said = new Set();
  for (const row of visibleRows(table)) {
    lines.push({ row, name: row.label, backbone: row.backbone, seeds: row.seeds_text,
      values: columns.map((column) => row.values.get(column.name) ?? null) });
    for (const paper of state.papers ? table.published : []) {
      if (paper.method !== row.method || said.has(paper)) continue;
      said.add(paper);
      lines.push({ paper, name: paper.name, backbone: paper.backbone, seeds: "",
        texts: columns.map((column) => paper.texts[column.name] ?? ""),
        values: columns.map((column) => paper.values[column.name] ?? null) });
    }
  }
  for (const row of state.method.length ? [] : table.human) {
    lines.push({ row, name: row.label, backbone: "", seeds: "",
      values: columns.map((column) => row.values.get(column.name) ?? null) });
  }
  return lines;
}

function cellTexts(line, mark, plusMinus) {
  if (line.paper) return line.texts;
  return line.values.map((value) => {
    if (value === null) return "";
    return mark(shown(value), value) + (value.interval ? `${plusMinus}${value.interval}` : "");
  });
}

const markdownText = (text) => text.replace(/[\\|<>[\]*_`&]/g, "\\$&");

function asMarkdown(table) {
  const heads = ["method", "backbone", "seeds", ...visibleColumns(table).map((column) => column.name)];
  const mark = (text, value) => (value.best ? `**${text}**` : text);
  const lines = linesOf(table).map((line) => [markdownText(line.name), markdownText(line.backbone), line.seeds,
    ...cellTexts(line, mark, " ± ")]);
  const rule = heads.map((_, i) => (i < 2 ? "---" : "---:"));
  return [heads.map(markdownText), rule, ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n") + "\n";
}

const ODD = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}",
  ">": "\\textgreater{}", "|": "\\textbar{}", '"': "\\textquotedbl{}", "Δ": "$\\Delta$", "±": "$\\pm$", "·": "\\textperiodcentered{}" };

const latexText = (text) => text.replace(/[\\~^<>|"Δ±·]|[&%$#_{}]/g, (special) => ODD[special] ?? `\\${special}`);

function asLatex(table) {
  const columns = visibleColumns(table);
  const mark = (text, value) => {
    const set = value.best ? `\\textbf{${text}}` : value.second ? `\\underline{${text}}` : text;
    return set + (value.differs ? "$^{\\dagger}$" : "");
  };
  const heads = ["Method", "Backbone", "Seeds", ...columns.map((column) =>
    latexText(column.name) + (column.higher_is_better === true ? " $\\uparrow$" : column.higher_is_better === false ? " $\\downarrow$" : ""))];
  const lines = linesOf(table).map((line) => [latexText(line.name), latexText(line.backbone), line.seeds,
    ...cellTexts(line, mark, " $\\pm$ ")].join(" & "));
  const caption = latexText(table.title) + (table.watermark ? `. Not comparable with published numbers: ${latexText(table.watermark)}` : "");
  return ["% \\usepackage{booktabs}", "\\begin{table}", "\\centering", `\\caption{${caption}}`,
    `\\begin{tabular}{llr${"r".repeat(columns.length)}}`, "\\toprule", `${heads.join(" & ")} \\\\`, "\\midrule",
    ...lines.map((line) => `${line} \\\\`), "\\bottomrule", "\\end{tabular}", "\\end{table}", ""].join("\n");
}

// A spreadsheet must not take a name for a formula.
function csvText(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function asCsv(table) {
  const columns = visibleColumns(table);
  const heads = ["method", "backbone", "seeds", ...columns.flatMap((column) => [column.name, `${column.name} ±`])];
  const lines = linesOf(table).map((line) => [csvText(line.name), csvText(line.backbone), csvText(line.seeds),
    ...line.values.flatMap((value) => (line.paper ? [value ?? "", ""] : [value?.mean ?? "", value?.half ?? ""]))].join(","));
  return [heads.map(csvText).join(","), ...lines, ""].join("\n");
}

const FORMS = { Markdown: asMarkdown, LaTeX: asLatex, CSV: asCsv };

function copyButtons(table) {
  return el("span", { class: "copies", role: "group", "aria-label": "Copy the table as" }, el("span", { class: "soft" }, "Copy"),
    Object.entries(FORMS).map(([name, form]) => el("button", { type: "button", "data-copy": name,
      onclick: () => copy(form(table), `${visibleRows(table).length} rows copied as ${name}`) }, name)));
}

async function copy(text, says) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "sr", readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) return toast("The browser did not allow copying");
  }
  return toast(says);
}

let toastTimer = 0;

function toast(text) {
  const node = document.getElementById("toast");
  node.textContent = text;
  node.classList.add("on");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => node.classList.remove("on"), 2500);
}

// Links: from one part of the page to another, without touching what is chosen.

// As table_anchor() of markup.py.
function anchorOf(id) {
  return `table-${id}`.replace(/\s/g, "");
}

// The hash holds what is chosen, so a link to a part of the page goes there and leaves the hash alone.
function follow(event) {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  goTo(decodeURIComponent(link.getAttribute("href").slice(1)));
}

function goTo(id) {
  if (!document.getElementById(id)) {
    Object.assign(state, { task: "", preset: "", q: "", method: [] });
    drawFilters();
    drawAll();
  }
  const to = document.getElementById(id);
  to.tabIndex = -1;
  to.scrollIntoView();
  to.focus({ preventScroll: true });
}

addEventListener("click", follow);

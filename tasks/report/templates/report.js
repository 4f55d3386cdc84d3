// Sorting and filtering of tables. The page says the same without it.
document.querySelectorAll("table[data-sortable]").forEach(table => {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
    const first = head.dataset.first || "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].map(row => [row.cells[place].dataset.v, row]);
    rows.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      return sign * (parseFloat(a) - parseFloat(b));
    });
    body.append(...rows.map(([, row]) => row));
  }));
});
document.querySelectorAll(".filters[data-tables]").forEach(filters => {
  const tables = filters.dataset.tables.split(" ").map(id => document.getElementById(id));
  const selects = [...filters.querySelectorAll("select")];
  filters.hidden = false;
  filters.addEventListener("change", () => {
    for (const table of tables) {
      let left = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = selects.some(s => s.value && row.dataset[s.name] !== s.value);
        left += !row.hidden;
      }
      const folded = tables.length > 1 && table.closest("details");
      if (folded) folded.hidden = !left;
    }
  });
});
// A figure's drawing as text, for a paper or a slide; its colours are written out.
document.querySelectorAll("button.copy").forEach(button => {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const svg = button.closest("figure").querySelector("svg").cloneNode(true);
    const style = getComputedStyle(document.documentElement);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    svg.setAttribute("font-family", "sans-serif");
    const text = svg.outerHTML.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy SVG"; }, 1500);
  });
});
// What can be scrolled can be scrolled by keys, too.
document.querySelectorAll(".scroll").forEach(box => {
  if (box.scrollWidth > box.clientWidth) {
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    if (!box.hasAttribute("aria-label")) box.setAttribute("aria-label", "A wide table");
  }
});
// #ID of something in a folded group opens the group.
(() => {
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details:not([open])");
    if (folded) folded.open = true;
    if (folded) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
document.querySelectorAll("a.here").forEach(here => here.addEventListener("click", async () => {
  if (!navigator.clipboard) return;
  await navigator.clipboard.writeText(here.href);
  here.textContent = "link copied";
  setTimeout(() => { here.textContent = "link"; }, 1500);
}));
// A page that is opened as a file leads to the models' own files; servers show reports and nothing else.
if (location.protocol === "file:") {
  document.querySelectorAll("#cell-models code[id]").forEach(code => {
    const files = code.parentNode.querySelector(".files");
    [["log", "log.txt"], ["folder", ""]].forEach(([text, name]) => {
      const link = document.createElement("a");
      link.href = `../../models/${code.id}/${name}`;
      link.textContent = text;
      files.append(link);
    });
  });
}

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
document.querySelectorAll(".filters").forEach(filters => {
  const table = document.getElementById(filters.dataset.table);
  const selects = [...filters.querySelectorAll("select")];
  filters.hidden = false;
  filters.addEventListener("change", () => {
    for (const row of table.tBodies[0].rows) {
      row.hidden = selects.some(s => s.value && row.dataset[s.name] !== s.value);
    }
  });
});

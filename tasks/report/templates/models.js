// The table of all models: only the rows in sight are in the page, so that 12,600 stay quick.
(() => {
  const { columns, rows, cells, names } = JSON.parse(document.getElementById("model-data").textContent);
  const ROW = 30, MORE = 6;
  const SCORES = 8;  // columns from this one on are scores
  const KEYS = { 1: "data", 2: "source", 3: "method", 4: "strength", 6: "status" };  // of the lists' columns
  const box = document.getElementById("model-table"), count = document.getElementById("model-count");
  const filters = document.getElementById("model-filters");
  const numeric = columns.map((title, place) => place >= SCORES || ["Strength", "Seed", "Seconds"].includes(title));
  let order = rows.map((_, place) => place), sorted = -1, descending = true;
  let cell = "";  // the only one whose models are seen

  const make = (tag, text, parent, attributes = {}) => {
    const element = document.createElement(tag);
    element.textContent = text;
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    parent.append(element);
    return element;
  };
  const text = (value, place) => {
    if (value === null) return "–";
    if (typeof value !== "number") return value;
    const digits = Math.abs(value) >= 100 ? 1 : 3;
    return (place >= SCORES ? value.toFixed(digits) : String(value)).replace("-", "−");
  };

  const head = make("div", "", box, { class: "head", role: "row" });
  const heads = columns.map((title, place) => {
    const cell = make("div", "", head, { role: "columnheader" });
    if (numeric[place]) cell.className = "number";
    const button = make("button", title, cell, { type: "button" });
    button.addEventListener("click", () => sort(place));
    return cell;
  });
  const space = make("div", "", box, { class: "space", role: "rowgroup" });
  const widths = columns.map((title, place) => {
    const words = title.split(/[ -]/).map(word => word.length);  // a heading may take several lines
    const longest = rows.reduce((most, row) => Math.max(most, text(row[place], place).length), 4);
    return `${Math.max(place ? longest : longest + 5, ...words)}ch`;
  });
  box.style.setProperty("--columns", widths.join(" "));

  const lists = Object.keys(KEYS).map(Number).map(place => {
    const values = [...new Set(rows.map(row => row[place]))];
    if (values.length < 2) return null;
    const label = make("label", columns[place] + " ", filters);
    const list = make("select", "", label, { name: columns[place] });
    make("option", "all", list, { value: "" });
    values.forEach(value => make("option", text(value, place), list, { value: JSON.stringify(value) }));
    return { place, list };
  }).filter(Boolean);
  const label = make("label", "Model ", filters);
  const search = make("input", "", label, { type: "search", size: "17", placeholder: "begins with" });

  const choose = () => {
    const wanted = lists.filter(({ list }) => list.value).map(({ place, list }) => [place, JSON.parse(list.value)]);
    const begins = search.value.trim().toLowerCase();
    order = [];
    rows.forEach((row, place) => {
      if (cell && cells[place] !== cell) return;
      if (wanted.every(([column, value]) => row[column] === value) && row[0].startsWith(begins)) order.push(place);
    });
    arrange();
  };
  const sort = place => {
    descending = sorted === place ? !descending : place >= SCORES;
    sorted = place;
    arrange();
  };
  const arrange = () => {
    if (sorted >= 0) {
      const sign = descending ? -1 : 1, values = rows.map(row => row[sorted]);
      order.sort((a, b) => {
        const one = values[a], other = values[b];
        if (one === null || other === null) return (one === null) - (other === null) || a - b;
        return sign * (one < other ? -1 : one > other ? 1 : 0) || a - b;
      });
    }
    heads.forEach((cell, place) => {
      if (place === sorted) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    count.textContent = `${order.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} models` +
      (cell ? ` of the cell ${cell}` : "");
    if (cell) {
      count.append(" ");
      make("a", "all cells", count, { href: "#" });
    }
    space.style.height = `${order.length * ROW}px`;
    box.style.height = `min(78vh, ${order.length * ROW + head.offsetHeight + 20}px)`;
    box.scrollTop = 0;
    draw();
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - MORE);
    const last = Math.min(order.length, first + Math.ceil(box.clientHeight / ROW) + 2 * MORE);
    const lines = document.createDocumentFragment();
    for (let place = first; place < last; place++) {
      const row = rows[order[place]];
      const line = make("div", "", lines, { class: "row", role: "row", style: `top:${place * ROW}px` });
      row.forEach((value, column) => {
        const cell = make("div", column ? text(value, column) : "", line, { role: "cell" });
        if (numeric[column]) cell.className = "number";
        if (!column) {
          make("a", value, cell, { href: `cells/${encodeURIComponent(cells[order[place]])}.html#${value}` });
          if (location.protocol !== "file:") return;  // servers show reports and nothing else
          cell.append(" ");
          make("a", "log", cell, { href: `../models/${value}/log.txt`, class: "log" });
        }
      });
    }
    space.replaceChildren(lines);
  };
  // #model=ID, #cell=NAME and #data=…&method=…&status=… choose what is seen, by the tables' names or
  // by those of this page; what is chosen is in the address, so that it can be sent
  const follow = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    cell = wanted.get("cell") || "";
    search.value = wanted.get("model") || "";
    lists.forEach(({ place, list }) => {
      const value = wanted.get(KEYS[place]), name = names[value] || value;
      const option = [...list.options].find(({ value: v }) => v && String(JSON.parse(v)) === name);
      list.value = option ? option.value : "";
    });
    choose();
  };
  const remember = () => {
    const wanted = new URLSearchParams();
    if (cell) wanted.set("cell", cell);
    if (search.value) wanted.set("model", search.value.trim());
    lists.filter(({ list }) => list.value).forEach(({ place, list }) => {
      const value = String(JSON.parse(list.value));
      wanted.set(KEYS[place], Object.keys(names).find(key => names[key] === value) || value);
    });
    history.replaceState(null, "", `#${wanted}`);
  };
  filters.addEventListener("input", () => { choose(); remember(); });
  box.addEventListener("scroll", () => requestAnimationFrame(draw));
  addEventListener("resize", draw);
  addEventListener("hashchange", follow);
  follow();
})();

// A point of a figure leads to its model or cell: the nearest to the pointer, or by arrow keys the next.
(() => {
  const element = document.getElementById("points");
  if (!element) return;
  const { cells, models, figures } = JSON.parse(element.textContent);
  const REACH = { mouse: 14, touch: 26 };  // px between a pointer and the point that it means
  const link = document.createElement("a"), note = document.createElement("span");
  link.className = "point";
  link.tabIndex = -1;
  note.className = "point-note";
  note.id = "point-note";
  note.setAttribute("role", "status");
  link.append(note);

  const help = document.getElementById("points-help");
  help.hidden = false;
  document.getElementById(Object.keys(figures)[0]).closest("details").before(help);

  const words = (titles, [, , place, ...values]) => {
    const numbers = titles.map((title, i) => `${title} ${String(values[i]).replace("-", "−")}`).join(", ");
    if (place < 0) return [`cells/${encodeURIComponent(cells[-1 - place][0])}.html`,
      `${cells[-1 - place][1]}\nmedian of its models: ${numbers}`];
    const [id, cell, seed] = models[place], [page, of] = cells[cell];
    return [`cells/${encodeURIComponent(page)}.html#${id}`, `model ${id}, seed ${seed}\n${of}\n${numbers}`];
  };

  Object.entries(figures).forEach(([id, { titles, points }]) => {
    const figure = document.getElementById(id), plot = figure.querySelector(".plot"), svg = plot.querySelector("svg");
    let chosen = null, sorted = null;
    const scale = () => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const hide = () => { chosen = null; link.remove(); };
    const show = point => {
      if (point === chosen && link.parentNode === figure) return;
      chosen = point;
      const [address, text] = words(titles, point), size = scale();
      const drawn = svg.getBoundingClientRect(), box = figure.getBoundingClientRect();
      const left = drawn.left - box.left + point[0] * size, top = drawn.top - box.top + point[1] * size;
      link.href = `../${address}`;
      link.style.left = `${left}px`;
      link.style.top = `${top}px`;
      note.textContent = text;
      figure.append(link);
      // within the figure, above the point or below it
      const shift = Math.min(Math.max(-note.offsetWidth / 2, -left), Math.max(box.width - left - note.offsetWidth, -left));
      note.style.left = `${shift}px`;
      link.classList.toggle("below", box.top + top < note.offsetHeight + 20);
    };
    const nearest = event => {
      const drawn = svg.getBoundingClientRect(), size = scale();
      const x = (event.clientX - drawn.left) / size, y = (event.clientY - drawn.top) / size;
      let best = null, least = (REACH[event.pointerType] || REACH.mouse) ** 2 / size ** 2;
      for (const point of points) {
        const far = (point[0] - x) ** 2 + (point[1] - y) ** 2;
        if (far < least) [best, least] = [point, far];
      }
      return best;
    };
    figure.addEventListener("pointermove", event => {
      if (event.pointerType !== "mouse" || !event.target.closest(".plot, .point")) return;
      const point = nearest(event);
      if (point) show(point); else hide();
    });
    figure.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") hide(); });
    // a tap names the point; a tap on its name or on itself leads to it
    plot.addEventListener("click", event => {
      const point = nearest(event);
      if (point) show(point); else hide();
    });
    plot.addEventListener("scroll", hide);
    plot.tabIndex = 0;
    plot.setAttribute("aria-describedby", "points-help");
    plot.addEventListener("keydown", event => {
      if (event.key === "Escape") hide();
      if (event.key === "Enter" && chosen) link.click();
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      sorted = sorted || [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const place = chosen ? sorted.indexOf(chosen) + step : 0;
      show(sorted[(place + sorted.length) % sorted.length]);
    });
    plot.addEventListener("blur", event => { if (event.relatedTarget !== link) hide(); });
  });
})();

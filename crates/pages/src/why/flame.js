// Flame graphs that can be searched and looked into: a click, or Enter, makes a box as wide as the graph;
// arrow keys go from box to box. Without this they are pictures with tooltips.
(() => {
  const WIDTH = 1200, ROW = 17, CHARACTER = 6.8, NARROWEST = 0.3;
  // What is no regular expression is searched for as it stands.
  const pattern = (text) => {
    try { return new RegExp(text, "i"); } catch { return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); }
  };
  for (const graph of document.querySelectorAll("svg.flame")) {
    const boxes = [...graph.querySelectorAll("g")].map((group) => {
      const rect = group.querySelector("rect");
      const of = (name) => Number(rect.getAttribute(name));
      return {
        group, rect, text: group.querySelector("text"), name: group.dataset.name,
        left: of("x"), width: of("width"), level: Math.round(of("y") / ROW), seen: true,
      };
    });
    const [root] = boxes;
    if (!root) continue;
    const right = (box) => box.left + box.width;
    // Boxes are drawn to a hundredth.
    const within = (box, outer) => box.left >= outer.left - 0.01 && right(box) <= right(outer) + 0.01;
    let zoomed = root, current = root;

    const draw = () => {
      const scale = WIDTH / zoomed.width;
      for (const box of boxes) {
        const above = box.level < zoomed.level && within(zoomed, box);
        const width = above ? WIDTH : box.width * scale;
        box.seen = above || (box.level >= zoomed.level && within(box, zoomed) && width >= NARROWEST);
        box.group.style.display = box.seen ? "" : "none";
        if (!box.seen) continue;
        const left = above ? 0 : (box.left - zoomed.left) * scale;
        box.rect.setAttribute("x", left.toFixed(2));
        box.rect.setAttribute("width", width.toFixed(2));
        box.rect.classList.toggle("outer", above);
        const fits = Math.floor(Math.max(0, width - 4) / CHARACTER);
        box.text.setAttribute("x", (left + 2).toFixed(2));
        box.text.textContent = fits < 3 ? "" : box.name.slice(0, fits);
      }
      reset.hidden = zoomed === root;
    };
    const zoom = (box) => { zoomed = box; draw(); };
    const focus = (box) => {
      if (!box) return;
      current.group.setAttribute("tabindex", "-1");
      current = box;
      current.group.setAttribute("tabindex", "0");
      current.group.focus();
    };

    const controls = document.createElement("div");
    controls.className = "flame-controls";
    const label = document.createElement("label");
    const field = document.createElement("input");
    const found = document.createElement("output");
    const reset = document.createElement("button");
    field.type = "search";
    field.placeholder = "function, or regular expression";
    label.append("Search ", field);
    reset.type = "button";
    reset.textContent = "Whole graph";
    reset.hidden = true;
    reset.addEventListener("click", () => { zoom(root); focus(root); });
    controls.append(label, found, reset);
    graph.before(controls);

    // What is found inside of what is found already is counted once.
    const search = () => {
      const wanted = field.value.trim() && pattern(field.value.trim());
      let share = 0, outer = null;
      for (const box of boxes) {
        const hit = Boolean(wanted) && box !== root && wanted.test(box.name);
        box.rect.classList.toggle("hit", hit);
        if (!hit || (outer && box.level > outer.level && within(box, outer))) continue;
        outer = box;
        share += box.width / root.width;
      }
      found.textContent = wanted ? `${(100 * share).toFixed(1)}% of the samples` : "";
    };
    field.addEventListener("input", search);

    graph.setAttribute("role", "group");
    graph.setAttribute("aria-label", "flame graph: arrow keys go from function to function, Enter looks into one, Escape shows all");
    for (const box of boxes) {
      box.group.setAttribute("role", "button");
      box.group.setAttribute("tabindex", box === root ? "0" : "-1");
      box.group.setAttribute("aria-label", box.group.querySelector("title").textContent);
      box.group.addEventListener("click", () => { zoom(box); focus(box); });
    }
    graph.addEventListener("keydown", (event) => {
      const level = boxes.filter((box) => box.seen && box.level === current.level);
      const at = level.indexOf(current);
      const to = {
        ArrowDown: () => boxes.find((box) => box.seen && box.level === current.level + 1 && within(box, current)),
        ArrowUp: () => boxes.find((box) => box.seen && box.level === current.level - 1 && within(current, box)),
        ArrowLeft: () => level[at - 1],
        ArrowRight: () => level[at + 1],
      }[event.key];
      if (to) focus(to());
      else if (event.key === "Enter" || event.key === " ") zoom(current);
      else if (event.key === "Escape") { zoom(root); focus(root); }
      else return;
      event.preventDefault();
    });
    draw();
  }
})();

// Exact values beside marks, on hover and on focus; arrow keys go from mark to mark. The page says
// everything without this, in the tables behind the charts.
(() => {
  const tip = document.getElementById("tip");
  let shown = null;
  const hide = () => {
    if (shown) shown.classList.remove("on");
    shown = null;
    tip.hidden = true;
  };
  const show = (mark) => {
    if (shown === mark) return;
    hide();
    shown = mark;
    mark.classList.add("on");
    // Text, never markup.
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    place(mark);
  };
  const place = (mark) => {
    const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const x = at.left + at.width / 2 - own.width / 2;
    const above = at.top - own.height - 8;
    tip.style.left = Math.max(4, Math.min(x, innerWidth - own.width - 4)) + "px";
    tip.style.top = (above > 4 ? above : Math.min(at.top, innerHeight - 40) + 18) + "px";
  };
  // A mark is small: the nearest one within reach counts.
  const REACH = 16;
  const nearest = (chart, x, y) => {
    let best = null, least = REACH;
    for (const mark of chart.querySelectorAll(".m:not(.line)")) {
      const box = mark.getBoundingClientRect();
      if (!box.width && !box.height) continue;
      const dx = Math.max(box.left - x, 0, x - box.right), dy = Math.max(box.top - y, 0, y - box.bottom);
      const far = Math.hypot(dx, dy) + 0.01 * Math.hypot(box.left + box.width / 2 - x, box.top + box.height / 2 - y);
      if (far < least) [best, least] = [mark, far];
    }
    return best;
  };
  let asked = 0;
  for (const chart of document.querySelectorAll("svg.chart")) {
    const marks = () => [...chart.querySelectorAll(".m")];
    chart.addEventListener("pointermove", (event) => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => {
        const line = event.target.closest(".m");
        const mark = nearest(chart, event.clientX, event.clientY) || line;
        if (mark) show(mark); else hide();
      });
    });
    chart.addEventListener("pointerleave", () => { cancelAnimationFrame(asked); hide(); });
    chart.addEventListener("focusin", (event) => event.target.matches(".m") && show(event.target));
    chart.addEventListener("focusout", hide);
    chart.parentElement.addEventListener("keydown", (event) => {
      const all = marks(), now = all.indexOf(document.activeElement);
      const steps = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 };
      if (event.key === "Escape") { hide(); return; }
      // Not yet on a mark, sideways keys still scroll a chart that is wider than its screen.
      const to = steps[event.key];
      if (to === undefined || !all.length) return;
      event.preventDefault();
      all[Math.max(0, Math.min(to, all.length - 1))].focus({ preventScroll: false });
    });
  }
  // The page moves under a keyboard's focus too: what is shown moves along, until its mark is gone.
  addEventListener("scroll", () => {
    if (!shown) return;
    const at = shown.getBoundingClientRect();
    if (at.bottom < 0 || at.top > innerHeight) hide(); else place(shown);
  }, { passive: true, capture: true });
  // A printed page has no summaries to click on.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.server:not([open]), details.more:not([open]), .checks details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();

// Two runs are chosen and compared; what changes in the notebook appears where it belongs. The same
// page is asked for again and what differs is put in place, so that nothing flickers, and focus, place
// and choice stay. Without this the pages say the same, as of when they were opened.
(() => {
  const choice = () => {
    const form = document.querySelector("form[data-choice]");
    if (!form) return;
    const n = form.querySelectorAll("input:checked").length, wanted = Number(form.dataset.choice);
    const words = n === 0 ? "Choose two runs." : n === 1 ? "One chosen: choose another." : n === wanted ? "Two chosen." : `${n} chosen: two are compared.`;
    const said = document.getElementById("chosen");
    if (said.textContent !== words) said.textContent = words;
    form.querySelector("button").disabled = n !== wanted;
  };
  document.addEventListener("change", choice);
  choice();

  const live = document.body.dataset.live;
  if (!live) return;

  // Rows are known by their ids. A box stays as it was ticked.
  const rows = (old, fresh) => {
    const ids = new Set([...fresh.children].map((row) => row.id));
    for (const row of [...old.children]) if (!ids.has(row.id)) row.remove();
    let at = old.firstElementChild;
    for (const row of [...fresh.children]) {
      const own = document.getElementById(row.id);
      if (!own) {
        row.classList.add("new");
        old.insertBefore(document.adoptNode(row), at);
        continue;
      }
      if (own === at) at = at.nextElementSibling; else old.insertBefore(own, at);
      [...row.children].forEach((cell, n) => {
        const kept = own.children[n];
        if (!kept.classList.contains("box") && kept.innerHTML !== cell.innerHTML) kept.replaceChildren(...cell.childNodes);
      });
    }
  };
  const refresh = async () => {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const shape = (page) => [...page.querySelectorAll("main h2, main tbody, main [data-part]")].map((one) => one.dataset.rows ?? one.dataset.part ?? one.textContent).join();
    if (shape(document) !== shape(fresh)) {
      // A part has come that was not there: the first trial, the first run.
      document.getElementById("main").replaceChildren(...fresh.getElementById("main").childNodes);
      choice();
      return;
    }
    for (const old of document.querySelectorAll("[data-rows]")) rows(old, fresh.querySelector(`[data-rows="${old.dataset.rows}"]`));
    for (const old of document.querySelectorAll("[data-part]")) {
      const part = fresh.querySelector(`[data-part="${old.dataset.part}"]`);
      if (old.innerHTML !== part.innerHTML) old.replaceChildren(...part.childNodes);
    }
    const bar = document.querySelector(".bar");
    if (bar) bar.hidden = fresh.querySelector(".bar").hidden;
    choice();
  };
  // One question at a time, and one more if something came meanwhile.
  let busy = false, again = false;
  const soon = async () => {
    if (busy) { again = true; return; }
    busy = true;
    do {
      again = false;
      try { await refresh(); } catch { /* The view has ended; its stream says so. */ }
    } while (again);
    busy = false;
  };
  const said = document.getElementById("said");
  const say = (words) => { if (said.textContent !== words) said.textContent = words; };
  const told = (pulse) => {
    const mine = live === "list" ? pulse.runs.filter((run) => run.state === "under way") : pulse.runs.filter((run) => String(run.id) === live);
    say(mine.map((run) => `Run ${run.id}: ${run.state}, ${run.trials} ${run.trials === 1 ? "trial" : "trials"}`).join("; "));
  };
  let stream = null;
  const listen = () => {
    stream = new EventSource("/events");
    stream.addEventListener("notebook", (event) => { told(JSON.parse(event.data)); soon(); });
    stream.addEventListener("error", () => say("No connection to prony view: this page is as of when it ended."));
  };
  // A browser has few connections to one place: pages that are not visible keep none.
  const seen = () => {
    if (document.hidden) { stream?.close(); stream = null; } else if (!stream) listen();
  };
  document.addEventListener("visibilitychange", seen);
  seen();
})();

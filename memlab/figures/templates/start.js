// Time, filters, keys and pointer: everything that changes the state.

let playing = null;

function setStep(step) {
  state.step = clamp(step, 0, last);
  $("time").value = state.step;
  $("date").textContent = days[state.step] ?? "";
  $("time").setAttribute("aria-valuetext", days[state.step] ?? "");
  $("arrivals")
    .querySelectorAll("rect")
    .forEach((r, k) => r.classList.toggle("past", k <= state.step));
  repaint();
  showPanel();
}

function play(on = playing === null) {
  clearInterval(playing);
  playing = null;
  if (on && last > 0) {
    if (state.step === last) setStep(0);
    playing = setInterval(() => {
      setStep(state.step + 1);
      if (state.step === last) play(false);
    }, 220);
  }
  $("play").textContent = playing === null ? "▶" : "❚❚";
  $("play").setAttribute("aria-label", playing === null ? "Play" : "Stop");
}

function drawArrivals() {
  const top = Math.max(...data.arrivals, 1);
  const box = $("arrivals");
  box.setAttribute("viewBox", `0 0 ${Math.max(last, 1)} 1`);
  data.arrivals.forEach((n, k) =>
    box.append(svg("rect", { x: k - 0.28, width: 0.56, y: 1 - n / top, height: n / top })),
  );
}

function setRow(row) {
  const middle = (scroller.scrollTop + scroller.clientHeight / 2 - place.top) / state.row;
  state.fitted = row === null;
  if (row !== null) state.row = clamp(row, 1.6, 60);
  layOut();
  scroller.scrollTop = middle * state.row + place.top - scroller.clientHeight / 2;
}

// ---- moving between entries ------------------------------------------------------------------------------------

function enter(n) {
  reading.forEach((m) => m.group.setAttribute("tabindex", -1));
  n.group.setAttribute("tabindex", 0);
  n.group.focus({ preventScroll: true });
  reveal(n.y);
}

function beside(n, side, end) {
  const link = n[side].filter((e) => e.shown).sort((a, b) => b.weight - a.weight || a.index - b.index)[0];
  if (link) return nodes[link[end]];
  const column = columns[n.kind + (side === "out" ? 1 : -1)]?.filter((m) => m.shown) ?? [];
  return column.reduce((best, m) => (best === null || Math.abs(m.y - n.y) < Math.abs(best.y - n.y) ? m : best), null);
}

function neighbour(n, key, back) {
  const column = columns[n.kind].filter((m) => m.shown);
  const order = reading.filter((m) => m.shown);
  switch (key) {
    case "ArrowDown":
      return column[column.indexOf(n) + 1];
    case "ArrowUp":
      return column[column.indexOf(n) - 1];
    case "ArrowRight":
      return beside(n, "out", "b");
    case "ArrowLeft":
      return beside(n, "into", "a");
    case "Home":
      return column[0];
    case "End":
      return column[column.length - 1];
    case "Tab":
      return order[order.indexOf(n) + (back ? -1 : 1)];
    default:
      return undefined;
  }
}

drawing.addEventListener("keydown", (event) => {
  const n = event.target.node;
  if (!n || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter") pick(n);
  else if (event.key === "Escape" && state.picked === null) panel.focus();
  else if (["ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft", "Home", "End", "Tab"].includes(event.key)) {
    const next = neighbour(n, event.key, event.shiftKey);
    if (!next) {
      if (event.key !== "Tab") event.preventDefault();
      return;
    }
    enter(next);
  } else return;
  event.preventDefault();
  event.stopPropagation();
});
drawing.addEventListener("focusin", (event) => {
  state.hovered = event.target.node ?? null;
  repaint();
});
drawing.addEventListener("focusout", () => {
  state.hovered = null;
  repaint();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input[type=search]");
  if (event.key === "Escape") {
    if (typing) search("");
    else pick(null);
  } else if (typing) {
    return;
  } else if (event.key === "/") $("search").focus();
  else if (event.key === " " && !event.target.matches("button, input[type=checkbox]")) play();
  else if (event.key === "+" || event.key === "=") setRow(state.row * 1.4);
  else if (event.key === "-") setRow(state.row / 1.4);
  else if (event.key === "0") setRow(null);
  else return;
  event.preventDefault();
});

// ---- pointer, filters, buttons -----------------------------------------------------------------------------------

function search(text) {
  $("search").value = text;
  state.query = bare(text.trim());
  repaint();
}

drawing.addEventListener("pointermove", (event) => {
  const item = at(event);
  if (item === state.hovered) return;
  state.hovered = item;
  drawing.classList.toggle("over", item !== null);
  repaint();
});
drawing.addEventListener("pointerleave", () => {
  state.hovered = null;
  repaint();
});
drawing.addEventListener("click", (event) => {
  const item = at(event);
  pick(item);
  if (item?.group) enter(item);
});
scroller.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    setRow(state.row * (event.deltaY < 0 ? 1.15 : 1 / 1.15));
  },
  { passive: false },
);
$("search").addEventListener("input", (event) => search(event.target.value));
$("search").addEventListener("keydown", (event) => {
  const hit =
    event.key === "Enter" && state.query
      ? heaviestFirst.find((n) => n.shown && words[n.index].includes(state.query))
      : null;
  if (hit) {
    pick(hit);
    enter(hit);
  }
});
$("minimum").max = (Math.ceil(most.node * 20) / 20).toFixed(2);
$("minimum").addEventListener("input", (event) => {
  state.minimum = Number(event.target.value);
  $("minimum-value").textContent = number(state.minimum);
  repaint();
});
document.querySelectorAll("[name=verification]").forEach((box) =>
  box.addEventListener("change", () => {
    state.allowed = [...document.querySelectorAll("[name=verification]:checked")].reduce(
      (m, b) => m | (1 << Number(b.value)),
      0,
    );
    repaint();
  }),
);
document.querySelectorAll("[name=category]").forEach((box) =>
  box.addEventListener("change", () => {
    state.categories = new Set(
      [...document.querySelectorAll("[name=category]:checked")].map((b) => Number(b.value)),
    );
    repaint();
  }),
);
$("time").max = last;
$("time").disabled = $("play").disabled = last === 0;
$("time").addEventListener("input", (event) => {
  play(false);
  setStep(Number(event.target.value));
});
$("play").addEventListener("click", () => play());
$("closer").addEventListener("click", () => setRow(state.row / 1.4));
$("wider").addEventListener("click", () => setRow(state.row * 1.4));
$("fit").addEventListener("click", () => setRow(null));
$("save-svg").addEventListener("click", saveSvg);
$("save-graphml").addEventListener("click", saveGraphml);
$("save-png").addEventListener("click", savePng);
$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

function openFromAddress() {
  const n = nodes.find((m) => encodeURIComponent(m.id) === location.hash.slice(1));
  if (n) pick(n);
}
window.addEventListener("hashchange", openFromAddress);
new ResizeObserver(layOut).observe(scroller);

document.querySelectorAll(".heads path").forEach((path, k) => path.setAttribute("d", shape(k, 5)));
if (reading.length) reading[0].group.setAttribute("tabindex", 0);
drawLegend();
drawArrivals();
layOut();
setStep(last);
openFromAddress();
document.documentElement.dataset.ready = "yes";

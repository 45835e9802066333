// The picture: places never change with time; widths, opacity and visibility follow the state.
// Text reaches the page as text nodes only.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== null));
  return node;
}
const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const KINDS = STYLE.kinds;
const DASHES = STYLE.verifications.map((v) => STYLE.dashes[v]);
const FAILED = STYLE.verifications.indexOf("failed");
const SINGULAR = ["Symptom", "Root cause", "Solution"];
const nodes = data.nodes;
const edges = data.edges;
const last = Math.max(data.moments.length - 1, 0);
const days = data.moments.map((m) => m.slice(0, 10));
const drawing = $("drawing");
const scroller = $("scroller");
const state = { step: last, minimum: 0, allowed: 15, categories: null, query: "", picked: null, hovered: null, row: 0, fitted: true };

// ---- what is known at a moment -------------------------------------------------------------------------------

const weightAt = (item, step) => (step < item.first ? 0 : item.weights[step - item.first]);
const evidenceAt = (item, step) => item.evidence.filter((e) => e[2] <= step);
const peak = (items) => items.reduce((most, i) => i.weights.reduce((a, b) => Math.max(a, b), most), 0) || 1;
const most = { node: peak(nodes), edge: peak(edges) };
const number = (x) => x.toFixed(2);
const plural = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;
const bare = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

nodes.forEach((n, i) => Object.assign(n, { index: i, out: [], into: [], peak: Math.max(0, ...n.weights) }));
edges.forEach((e, i) => {
  Object.assign(e, { index: i, side: nodes[e.a].kind === 0 ? "in" : "out" });
  nodes[e.a].out.push(e);
  nodes[e.b].into.push(e);
});
const columns = KINDS.map((_, k) => nodes.filter((n) => n.kind === k).sort((a, b) => a.row - b.row));
const reading = columns.flat();
const heaviestFirst = [...nodes].sort((a, b) => b.peak - a.peak || a.index - b.index);
const words = nodes.map((n) =>
  bare(
    [n.title, ...n.quotes.flatMap((q) => [q[2], q[3]]), ...n.evidence.map((e) => data.conversations[e[0]][0])].join(
      "\n",
    ),
  ),
);

function known(item) {
  const mask = item.evidence.reduce((m, e) => (e[2] <= state.step ? m | (1 << e[1]) : m), 0);
  item.best = mask ? Math.log2(mask & -mask) : 0;
  item.weight = weightAt(item, state.step);
  const chosen = state.categories === null || item.category === undefined || state.categories.has(item.category);
  return chosen && item.first <= state.step && item.weight >= state.minimum && (mask & state.allowed) !== 0;
}

// ---- elements --------------------------------------------------------------------------------------------------

const edgeLayer = svg("g");
const cardLayer = svg("g");
const nodeLayer = svg("g");
const note = svg("text", { class: "note", "text-anchor": "middle" });
drawing.append(cardLayer, edgeLayer, nodeLayer, note);
for (const e of edges) {
  e.path = svg("path", { class: "edge", "data-edge": `${nodes[e.a].id} ${nodes[e.b].id}` });
  edgeLayer.append(e.path);
}
for (const n of reading) {
  n.base = svg("path", { class: "base" });
  n.mark = svg("path", { class: "mark" });
  n.card = svg("rect", { class: "card" });
  if (n.kind === 1) cardLayer.append(n.card);
  n.label = svg("text", { "text-anchor": n.kind === 0 ? "end" : "start" });
  n.hit = svg("rect", { class: "hit", rx: 4 });
  n.group = svg(
    "g",
    { class: `node ${KINDS[n.kind]}`, role: "button", tabindex: -1, "data-node": n.id },
    svg("title", {}, n.title),
    n.hit,
    n.base,
    n.mark,
    n.label,
  );
  n.group.node = n;
  nodeLayer.append(n.group);
}

function shape(kind, r) {
  if (kind === 0) return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
  if (kind === 1) return `M0 ${-r * 1.2}L${r * 1.2} 0L0 ${r * 1.2}L${-r * 1.2} 0Z`;
  return `M${-r * 0.9} ${-r * 0.9}H${r * 0.9}V${r * 0.9}H${-r * 0.9}Z`;
}

// ---- places ----------------------------------------------------------------------------------------------------

const place = { width: 0, height: 0, label: 0, ports: [] };
const pen = document.createElement("canvas").getContext("2d");
pen.font = `12px ${getComputedStyle(document.documentElement).getPropertyValue("--font")}`;

// One line, or two of about equal length if there is room for two; what does not fit ends in an ellipsis.
function wrap(text, width, lines) {
  const line = text.replace(/\s+/g, " ").trim();
  if (lines === 1 || pen.measureText(line).width <= width) return [shorten(line, width)];
  const parts = line.split(" ");
  const halves = parts.slice(1).map((_, k) => [parts.slice(0, k + 1).join(" "), parts.slice(k + 1).join(" ")]);
  const fits = halves.map((h) => [h, ...h.map((t) => pen.measureText(t).width)]).filter((h) => h[1] <= width);
  if (!fits.length) return [shorten(line, width)];
  const whole = fits.filter((h) => h[2] <= width).sort((a, b) => Math.max(a[1], a[2]) - Math.max(b[1], b[2]));
  const [first, rest] = (whole[0] ?? fits[fits.length - 1])[0];
  return [first, shorten(rest, width)];
}

function shorten(line, width) {
  if (pen.measureText(line).width <= width) return line;
  const letters = [...line];
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(letters.slice(0, middle).join("") + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return letters.slice(0, low).join("").trimEnd() + "…";
}

function layOut() {
  const width = Math.max(scroller.clientWidth, 340); // on a phone, too, all three columns are in sight
  const room = scroller.clientHeight - (data.hidden.nodes ? 40 : 20);
  const fit = clamp(room / data.rows, 1.6, 46);
  if (state.fitted || !state.row) state.row = fit;
  const label = clamp(width * 0.232, 78, 340);
  const top = 12 + Math.max(0, (room - data.rows * state.row) / 2) * 0.35;
  const ports = [label + 22, (width - label) / 2 - 8, (width + label) / 2 + 8, width - label - 22];
  Object.assign(place, {
    width,
    label,
    top,
    ports,
    height: Math.max(top + data.rows * state.row + 28, scroller.clientHeight - 2),
  });
  drawing.setAttribute("width", width);
  drawing.setAttribute("height", place.height);
  drawing.setAttribute("viewBox", `0 0 ${width} ${place.height}`);
  for (const n of nodes) placeNode(n);
  for (const e of edges) placeEdge(e);
  placeNote();
  const heads = $("heads").children;
  [16, place.ports[1] - 7, place.ports[3] - 7].forEach((x, k) => (heads[k].style.left = `${x}px`));
  paint();
}

function placeNode(n) {
  const { label, ports } = place;
  const lines = state.row >= 30 ? 2 : 1;
  const card = clamp(state.row - 4, Math.max(0.8, state.row * 0.4), 32);
  n.y = place.top + (n.row + 0.5) * state.row;
  n.x = [ports[0], ports[1], ports[3]][n.kind];
  const left = [ports[0] - label - 14, ports[1] - 9, ports[3] - 9][n.kind];
  const high = clamp(state.row, 18, 36);
  fill(n.hit, { x: left, y: n.y - high / 2, width: label + (n.kind === 1 ? 34 : 26), height: high }, []);
  fill(
    n.card,
    { x: ports[1], y: n.y - card / 2, width: ports[2] - ports[1], height: card, rx: Math.min(5, card / 2) },
    [],
  );
  for (const path of [n.base, n.mark]) path.setAttribute("transform", `translate(${n.x} ${n.y})`);
  const x = n.kind === 0 ? n.x - 14 : n.x + 14;
  const text = wrap(n.title, label - (n.kind === 1 ? 6 : 0), lines);
  n.group.classList.toggle("roomy", state.row >= 15);
  n.label.replaceChildren(
    ...text.map((line, k) => svg("tspan", { x, y: n.y + 4 + (k - (text.length - 1) / 2) * 14 }, line)),
  );
}

function placeEdge(e) {
  const [from, to] = ends(e);
  const half = (to - from) / 2;
  const [y0, y1] = [nodes[e.a].y, nodes[e.b].y];
  e.path.setAttribute("d", `M${from} ${y0}C${from + half} ${y0} ${to - half} ${y1} ${to} ${y1}`);
}

const ends = (e) => (nodes[e.a].kind === 0 ? [place.ports[0], place.ports[1]] : [place.ports[2], place.ports[3]]);

function placeNote() {
  fill(note, { x: place.width / 2, y: place.height - 8 }, []);
  const { nodes: hidden, edges: links } = data.hidden;
  note.textContent =
    nodes.length === 0
      ? "Nothing learned yet"
      : hidden
        ? `${plural(hidden, "lighter entry", "lighter entries")} and ${plural(links, "link")} not drawn`
        : "";
}

function reveal(y) {
  const [top, height] = [scroller.scrollTop, scroller.clientHeight];
  if (y < top + 30) scroller.scrollTop = y - 60;
  else if (y > top + height - 30) scroller.scrollTop = y + 60 - height;
}

// ---- appearance ------------------------------------------------------------------------------------------------

let waiting = false;
function repaint() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paint();
  });
}

function paint() {
  for (const n of nodes) n.shown = known(n);
  for (const e of edges) e.shown = known(e) && nodes[e.a].shown && nodes[e.b].shown;
  const lit = lightFrom(state.hovered ?? state.picked);
  const found = state.query ? new Set(nodes.filter((n) => n.shown && words[n.index].includes(state.query))) : null;
  drawing.classList.toggle("lighting", lit !== null);
  drawing.classList.toggle("searching", found !== null);
  for (const e of edges) paintEdge(e, lit, found);
  for (const n of nodes) paintNode(n, lit, found);
  paintLabels(lit, found);
  report(found);
}

function paintEdge(e, lit, found) {
  e.path.setAttribute("display", e.shown ? "inline" : "none");
  if (!e.shown) return;
  const share = e.weight / most.edge;
  const thick = clamp(state.row / 12, 0.45, 1);
  const matches = found !== null && (found.has(nodes[e.a]) || found.has(nodes[e.b]));
  const names = [e.side, STYLE.verifications[e.best]];
  if (lit?.has(e)) names.push("lit");
  if (matches) names.push("match");
  if (state.picked === e) names.push("picked");
  fill(
    e.path,
    {
      class: `edge ${names.join(" ")}`,
      "stroke-width": ((0.9 + 5 * share) * thick).toFixed(2),
      "stroke-opacity": (e.best === FAILED ? 0.6 : 0.26 + 0.55 * share).toFixed(3),
      "stroke-dasharray": DASHES[e.best],
    },
    [],
  );
}

function paintNode(n, lit, found) {
  for (const element of [n.group, n.card]) element.setAttribute("display", n.shown ? "inline" : "none");
  if (!n.shown) return;
  const share = n.weight / most.node;
  const radius = clamp(state.row * 0.42, 1.3, 8) * (0.45 + 0.55 * Math.sqrt(share));
  const strength = (0.5 + 0.5 * share).toFixed(3);
  for (const path of [n.base, n.mark]) path.setAttribute("d", shape(n.kind, radius));
  n.mark.setAttribute("fill-opacity", n.best === FAILED ? 0 : strength);
  n.label.setAttribute("fill-opacity", (0.68 + 0.32 * share).toFixed(3));
  fill(
    n.card,
    {
      "fill-opacity": state.row < 15 ? (0.1 + 0.25 * share).toFixed(3) : 0.07,
      "stroke-opacity": state.row < 15 ? 0 : (0.25 + 0.6 * share).toFixed(3),
    },
    [],
  );
  const is = { lit: lit?.has(n), match: found?.has(n), picked: state.picked === n, failed: n.best === FAILED };
  for (const element of [n.group, n.card])
    for (const [name, on] of Object.entries(is)) element.classList.toggle(name, on ?? false);
  const cases = evidenceAt(n, state.step).length;
  n.group.setAttribute(
    "aria-label",
    `${SINGULAR[n.kind]}: ${n.title}. Weight ${number(n.weight)}, ${plural(cases, "conversation")}`,
  );
}

// Labels of what is looked at come first, then the heaviest; one is left out rather than printed over another.
function paintLabels(lit, found) {
  const gap = 15;
  const taken = [[], [], []];
  const first = (n) => n === state.picked || lit?.has(n) || found?.has(n);
  for (const n of [...heaviestFirst.filter(first), ...heaviestFirst.filter((n) => !first(n))]) {
    const free =
      n.shown &&
      (state.row >= gap ||
        n === state.picked ||
        n === state.hovered ||
        taken[n.kind].every((y) => Math.abs(y - n.y) >= gap));
    n.label.setAttribute("display", free ? "inline" : "none");
    // A label in a narrow row would lie on its bar: the bar steps back under it.
    if (n.kind === 1 && state.row < gap) n.card.classList.toggle("labelled", free);
    if (free) taken[n.kind].push(n.y);
  }
}

// A node lights the paths through it, a link its two ends.
function lightFrom(item) {
  if (!item) return null;
  if (item.path) return new Set([item, nodes[item.a], nodes[item.b]]);
  const lit = new Set([item]);
  const walk = (n, side, end) => {
    for (const e of n[side])
      if (e.shown) {
        lit.add(e).add(nodes[e[end]]);
        walk(nodes[e[end]], side, end);
      }
  };
  walk(item, "out", "b");
  walk(item, "into", "a");
  return lit;
}

function report(found) {
  const shown = nodes.filter((n) => n.shown);
  const entries = plural(nodes.length + data.hidden.nodes, "entry", "entries");
  const all = plural(edges.length + data.hidden.edges, "link");
  const links = edges.filter((e) => e.shown).length;
  columns.forEach(
    (column, k) => ($("heads").children[k].querySelector(".count").textContent = column.filter((n) => n.shown).length),
  );
  $("status").textContent = `${shown.length} of ${entries}, ${links} of ${all}`;
  $("found").textContent = found === null ? "" : plural(found.size, "hit");
}

// ---- pointing --------------------------------------------------------------------------------------------------

const nearest = (items, distance, reach) => {
  const [best, least] = items
    .filter((i) => i.shown)
    .reduce((b, i) => (distance(i) < b[1] ? [i, distance(i)] : b), [null, Infinity]);
  return least <= reach ? best : null;
};

function at(event) {
  const label = event.target.closest("text");
  if (label?.parentNode.node) return label.parentNode.node;
  const box = drawing.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const { ports } = place;
  const column = x < ports[0] + 9 ? 0 : x > ports[1] - 9 && x < ports[2] + 6 ? 1 : x > ports[3] - 9 ? 2 : -1;
  if (column >= 0) return nearest(columns[column], (n) => Math.abs(n.y - y), Math.max(state.row / 2, 7));
  const side = x < ports[1] ? 0 : 1;
  const share = (x - ports[side * 2]) / (ports[side * 2 + 1] - ports[side * 2]);
  const t = bezier(share);
  const rise = t * t * (3 - 2 * t);
  const height = (e) => nodes[e.a].y + (nodes[e.b].y - nodes[e.a].y) * rise;
  return nearest(
    edges.filter((e) => nodes[e.a].kind === side),
    (e) => Math.abs(height(e) - y),
    9,
  );
}

// The parameter at which a link has gone this share of its way across.
function bezier(share) {
  let [low, high] = [0, 1];
  for (let i = 0; i < 30; i++) {
    const t = (low + high) / 2;
    if (1.5 * t * (1 - t) + t * t * t < share) low = t;
    else high = t;
  }
  return low;
}

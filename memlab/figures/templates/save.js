// The legend, and the picture as a file: what is drawn now, with title, headings and legend, needing no style sheet.

const PROPERTIES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linejoin",
  "paint-order",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
];

function legend() {
  const group = svg("g", { class: "legend" });
  let x = 0;
  const entry = (width, text, ...marks) => {
    marks.forEach((m) => m.setAttribute("transform", `translate(${x + width / 2} 10)`));
    group.append(...marks, svg("text", { x: x + width + 6, y: 14 }, text));
    x += width + 6 + pen.measureText(text).width + 16;
  };
  KINDS.forEach((kind, k) =>
    entry(12, SINGULAR[k].toLowerCase(), svg("g", { class: kind }, svg("path", { class: "mark", d: shape(k, 5) }))),
  );
  const line = (className, dash, width = 2) =>
    svg("path", { class: `edge ${className}`, d: "M-13 0H13", "stroke-width": width, "stroke-dasharray": dash });
  STYLE.verifications.forEach((v, k) => entry(26, v, line(k === FAILED ? "failed" : "neutral", DASHES[k])));
  entry(
    26,
    "wider, stronger = weight",
    svg("path", { class: "edge neutral wedge", d: "M-13 0L13 -4V4Z", "stroke-width": 0 }),
  );
  return { group, width: x };
}

function drawLegend() {
  const { group, width } = legend();
  group.querySelector(".wedge").style.fill = "var(--muted)";
  const box = $("legend");
  fill(box, { width, height: 20, viewBox: `0 0 ${width} 20` }, []);
  box.replaceChildren(group);
}

function frozen(element) {
  const style = getComputedStyle(element);
  const copy = svg(element.tagName);
  for (const name of ["d", "x", "y", "width", "height", "rx", "transform"]) {
    if (element.hasAttribute(name)) copy.setAttribute(name, element.getAttribute(name));
  }
  if (element.tagName !== "g") for (const name of PROPERTIES) copy.setAttribute(name, style.getPropertyValue(name));
  else if (style.opacity !== "1") copy.setAttribute("opacity", style.opacity);
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.textContent);
    else if (child.tagName !== "title" && !child.classList.contains("hit") && child.getAttribute("display") !== "none")
      copy.append(frozen(child));
  }
  return copy;
}

function picture() {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const font = colour("--font");
  const [top, bottom] = [74, 44];
  const { width } = place;
  const height = top + place.height + bottom;
  const text = (x, y, content, size, weight = 400, fill = colour("--ink")) =>
    svg("text", { x, y, fill, "font-family": font, "font-size": size, "font-weight": weight }, content);
  const headings = KINDS.map((kind, k) =>
    text([16, place.ports[1] - 7, place.ports[3] - 7][k], 64, STYLE.headings[kind], 13, 600),
  );
  const shift = (y, x, node) => svg("g", { transform: `translate(${x} ${y})` }, node);
  const root = svg(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" },
    svg("title", {}, data.title),
    svg("desc", {}, `Memory graph as known on ${days[state.step] ?? "no day"}: ${$("status").textContent}.`),
    svg("rect", { width, height, fill: colour("--paper") }),
    text(16, 32, shorten(data.title, (width - 340) / 1.6), 18, 600),
    ...headings,
    svg(
      "text",
      { x: width - 16, y: 32, "text-anchor": "end", fill: colour("--muted"), "font-family": font, "font-size": 12 },
      `${days[state.step] ?? ""}, ${$("status").textContent}`,
    ),
  );
  for (const layer of [cardLayer, edgeLayer, nodeLayer, note]) root.append(shift(top, 0, frozen(layer)));
  root.append(shift(height - 32, 16, frozen($("legend").firstChild)));
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

function download(blob, ending) {
  const name = `${data.customer}-${data.category}-${days[state.step] ?? "empty"}`.replace(/[^\p{L}\p{N}.-]+/gu, "-");
  const url = URL.createObjectURL(blob);
  const link = html("a", { href: url, download: `${name}.${ending}` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function saveSvg() {
  download(new Blob([picture().text], { type: "image/svg+xml" }), "svg");
}

// What is shown now, with weights at the chosen moment: nodes and links as GraphML, text as XML text.
function graphml() {
  const space = "http://graphml.graphdrawing.org/xmlns";
  const file = document.implementation.createDocument(space, "graphml");
  const add = (parent, tag, attributes, text) => {
    const element = file.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  };
  const keys = {
    node: { title: "string", kind: "string", category: "string", weight: "double", conversations: "int", x: "double", y: "double" },
    edge: { weight: "double", verified: "string", conversations: "string" },
  };
  for (const [on, fields] of Object.entries(keys))
    for (const [name, type] of Object.entries(fields))
      add(file.documentElement, "key", { id: `${on}_${name}`, for: on, "attr.name": name, "attr.type": type });
  const graph = add(file.documentElement, "graph", { edgedefault: "directed" });
  const fields = (element, on, values) => {
    for (const [name, value] of Object.entries(values)) add(element, "data", { key: `${on}_${name}` }, String(value));
  };
  for (const n of nodes.filter((m) => m.shown))
    fields(add(graph, "node", { id: n.id }), "node", {
      title: n.title,
      kind: KINDS[n.kind],
      category: data.categories[n.category],
      weight: n.weight,
      conversations: evidenceAt(n, state.step).length,
      x: 400 * n.kind,
      y: 40 * n.row,
    });
  for (const e of edges.filter((f) => f.shown))
    fields(add(graph, "edge", { source: nodes[e.a].id, target: nodes[e.b].id }), "edge", {
      weight: e.weight,
      verified: STYLE.verifications[e.best],
      conversations: evidenceAt(e, state.step).map((v) => data.conversations[v[0]][0]).join(" "),
    });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(file)}\n`;
}

function saveGraphml() {
  download(new Blob([graphml()], { type: "application/xml" }), "graphml");
}

async function savePng() {
  const { text, width, height } = picture();
  const scale = Math.min(2, 16000 / Math.max(width, height));
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image(width, height);
  image.src = url;
  await image.decode();
  const canvas = html("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  canvas.toBlob((blob) => download(blob, "png"), "image/png");
}

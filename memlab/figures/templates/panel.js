// The side panel: what an entry or a link rests on, as it was known at the chosen moment.

const panel = $("panel");

function pick(item) {
  state.picked = item;
  showPanel();
  repaint();
  panel.scrollTop = 0;
  if (item) reveal(item.path ? (nodes[item.a].y + nodes[item.b].y) / 2 : item.y);
}

function showPanel() {
  const item = state.picked;
  panel.replaceChildren(...(item === null ? overview() : item.path ? linkPanel(item) : entryPanel(item)));
}

const section = (title, ...children) => (children.length ? [html("h3", {}, title), ...children] : []);
const conversation = (index) => data.conversations[index];
const open = (item, text) =>
  html("button", { class: "link", type: "button", dir: "auto", onclick: () => pick(item) }, text);
const symbol = (kind) =>
  html(
    "span",
    { class: KINDS[kind] },
    svg(
      "svg",
      { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" },
      svg("path", { class: "mark", d: shape(kind, 5) }),
    ),
  );

function head(label, kind = null) {
  const close = html(
    "button",
    { class: "close", type: "button", "aria-label": "Close details", onclick: () => pick(null) },
    "×",
  );
  return html("div", { class: "top" }, html("span", {}, kind === null ? null : symbol(kind), label), close);
}

function facts(item) {
  const seen = evidenceAt(item, state.step);
  const dates = seen.map((e) => conversation(e[0])[1].slice(0, 10));
  const fact = (value, name) => html("div", {}, html("b", {}, value), name);
  return html(
    "div",
    { class: "facts" },
    fact(number(weightAt(item, state.step)), "weight"),
    fact(String(seen.length), seen.length === 1 ? "conversation" : "conversations"),
    fact(dates[0] ?? "–", "first seen"),
    fact(dates[dates.length - 1] ?? "–", "last seen"),
  );
}

// The weight over time, with the chosen moment.
function curve(item) {
  const top = Math.max(...item.weights, 0.01);
  const span = Math.max(last, 1);
  const points = item.weights.map((w, k) => `${item.first + k} ${(1 - w / top).toFixed(4)}`);
  const end = item.first + item.weights.length - 1;
  return svg(
    "svg",
    {
      class: "curve",
      viewBox: `0 -0.04 ${span} 1.08`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": "Weight over time",
    },
    svg("path", { class: "area", d: `M${item.first} 1L${points.join("L")}L${end} 1Z` }),
    svg("path", { class: "course", d: `M${points.join("L")}` }),
    svg("path", { class: "now", d: `M${state.step} -0.04V1.04` }),
  );
}

function evidenceTable(rows) {
  return html(
    "table",
    {},
    html(
      "tbody",
      {},
      ...[...rows].reverse().map(([c, v, , detour]) => {
        const name = STYLE.verifications[v];
        return html(
          "tr",
          {},
          html("td", {}, conversation(c)[0]),
          html("td", { class: "when", title: conversation(c)[1] }, conversation(c)[1].slice(0, 10)),
          html(
            "td",
            {},
            html("span", { class: `badge ${name}` }, name),
            detour ? html("small", {}, "workaround") : null,
          ),
        );
      }),
    ),
  );
}

function quoteBlocks(node, keep, failed = false) {
  return node.quotes
    .filter((q) => q[3] && keep(q[0]))
    .reverse()
    .map(([c, turn, , quote]) =>
      html(
        "blockquote",
        { class: failed ? "failed" : "", dir: "auto" },
        quote,
        html("cite", { dir: "ltr" }, `${conversation(c)[0]}, turn ${turn}`),
      ),
    );
}

function split(item) {
  const seen = evidenceAt(item, state.step);
  return [seen.filter((e) => e[1] !== FAILED), seen.filter((e) => e[1] === FAILED)];
}
const among = (rows) => {
  const set = new Set(rows.map((e) => e[0]));
  return (c) => set.has(c);
};

function later(item) {
  const n = item.evidence.length - evidenceAt(item, state.step).length;
  return n
    ? [html("p", { class: "hint" }, `${plural(n, "conversation")} after ${days[state.step]} not counted here.`)]
    : [];
}

function entryPanel(n) {
  const [good, bad] = split(n);
  const told = (keep) => keep.filter(([, c]) => conversation(c)[2] <= state.step);
  return [
    head(SINGULAR[n.kind], n.kind),
    html("h2", { dir: "auto" }, n.title),
    facts(n),
    curve(n),
    ...later(n),
    ...section("Wordings", ...wordings(n)),
    ...section(n.kind === 1 ? "Symptoms" : "Root causes", ...neighbours(n.into, "a")),
    ...section(n.kind === 0 ? "Root causes" : "Solutions", ...neighbours(n.out, "b")),
    ...section("Evidence", ...(good.length ? [evidenceTable(good)] : [])),
    ...section("Quotes", ...quoteBlocks(n, among(good))),
    ...section("Counter-evidence", ...counter(n, bad)),
    ...section("Decisions", ...decisions(told(n.decisions))),
  ];
}

function wordings(n) {
  const counts = new Map();
  for (const [c, , text] of n.quotes)
    if (conversation(c)[2] <= state.step) counts.set(text, (counts.get(text) ?? 0) + 1);
  const rows = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return rows.length
    ? [
        html(
          "ul",
          {},
          ...rows.map(([text, count]) =>
            html(
              "li",
              {},
              html("span", { class: "grow", dir: "auto" }, text),
              html("span", { class: "number" }, `${count}×`),
            ),
          ),
        ),
      ]
    : [];
}

function neighbours(links, end) {
  const rows = links
    .filter((e) => e.first <= state.step)
    .sort((a, b) => weightAt(b, state.step) - weightAt(a, state.step) || a.index - b.index);
  if (!rows.length) return [];
  return [
    html(
      "ul",
      {},
      ...rows.map((e) =>
        html(
          "li",
          {},
          html("span", { class: "grow" }, open(nodes[e[end]], nodes[e[end]].title)),
          html("span", { class: "number" }, open(e, `link ${number(weightAt(e, state.step))}`)),
        ),
      ),
    ),
  ];
}

function counter(n, bad) {
  const failures = n.kind === 1 ? n.out.map((e) => [e, split(e)[1]]).filter(([, rows]) => rows.length) : [];
  return [
    ...(bad.length
      ? [
          html("p", { class: "hint" }, `Did not help in ${plural(bad.length, "conversation")}.`),
          evidenceTable(bad),
          ...quoteBlocks(n, among(bad), true),
        ]
      : []),
    ...(failures.length
      ? [
          html(
            "ul",
            {},
            ...failures.map(([e, rows]) =>
              html(
                "li",
                {},
                html("span", { class: "grow" }, open(nodes[e.b], nodes[e.b].title)),
                html("span", { class: "number badge failed" }, `failed ${rows.length}×`),
              ),
            ),
          ),
        ]
      : []),
  ];
}

function decisions(rows) {
  return rows.length
    ? [
        html(
          "ul",
          {},
          ...rows.map(([op, c, text, reason]) =>
            html(
              "li",
              {},
              html(
                "span",
                { class: "grow" },
                html("b", {}, op),
                " ",
                html("span", { dir: "auto" }, `“${text}”`),
                html(
                  "cite",
                  {},
                  `${conversation(c)[0]}, ${conversation(c)[1].slice(0, 10)}${reason ? `: ${reason}` : ""}`,
                ),
              ),
            ),
          ),
        ),
      ]
    : [];
}

function linkPanel(e) {
  const [good, bad] = split(e);
  const both = (rows, failed) => [e.a, e.b].flatMap((i) => quoteBlocks(nodes[i], among(rows), failed));
  const ends = [e.a, e.b].map((i) =>
    html("li", {}, symbol(nodes[i].kind), html("span", { class: "grow" }, open(nodes[i], nodes[i].title))),
  );
  return [
    head("Link"),
    html("ul", { class: "ends" }, ...ends),
    facts(e),
    curve(e),
    ...later(e),
    ...section("Evidence", ...(good.length ? [evidenceTable(good)] : [])),
    ...section("Quotes", ...both(good, false)),
    ...section("Counter-evidence", ...(bad.length ? [evidenceTable(bad), ...both(bad, true)] : [])),
  ];
}

function overview() {
  const known = nodes.filter((n) => n.first <= state.step);
  const causes = known
    .filter((n) => n.kind === 1)
    .sort((a, b) => weightAt(b, state.step) - weightAt(a, state.step) || a.index - b.index)
    .slice(0, 8);
  const cases = data.conversations.filter((c) => c[2] <= state.step).length;
  const keys = [
    ["↑ ↓ ← →", "move between entries"],
    ["Enter", "open an entry"],
    ["Esc", "close, then leave the graph"],
    ["/", "search"],
    ["Space", "play or stop"],
    ["+ − 0", "row height, fit"],
  ];
  const rejected = data.rejected.filter(([, c]) => conversation(c)[2] <= state.step);
  return [
    html("h2", {}, "Overview"),
    html(
      "p",
      { class: "hint" },
      nodes.length
        ? `${plural(known.length, "entry", "entries")} from ${plural(cases, "conversation")} known on `
        : "No conversation has been learned yet.",
      html("span", { class: "date" }, days[state.step] ?? ""),
      nodes.length ? ". Click an entry or a link to see what it rests on." : "",
    ),
    ...section(
      "Strongest root causes",
      ...(causes.length
        ? [
            html(
              "ul",
              {},
              ...causes.map((n) =>
                html(
                  "li",
                  {},
                  html("span", { class: "grow" }, open(n, n.title)),
                  html("span", { class: "number" }, number(weightAt(n, state.step))),
                ),
              ),
            ),
          ]
        : []),
    ),
    ...section(
      "Keys",
      html("dl", { class: "keys" }, ...keys.flatMap(([key, what]) => [html("dt", {}, key), html("dd", {}, what)])),
    ),
    ...section("Rejected", ...decisions(rejected)),
  ];
}

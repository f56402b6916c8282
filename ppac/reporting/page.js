// Charts come drawn; this makes them answer a pointer, and tables sort. Without it the page is
// complete, only still.
const dark = matchMedia("(prefers-color-scheme: dark)");

function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csv(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))].filter((n) => n !== "text" && n !== "best");
  const cell = (v) => (v == null ? "" : /[",\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : v);
  return [names, ...rows.map((row) => names.map((n) => row[n]))]
    .map((line) => line.map(cell).join(",") + "\n").join("");
}

function button(text, title, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.title = title;
  made.onclick = act;
  return made;
}

async function embed(chart, spec) {
  const theme = dark.matches ? "dark" : "light";
  const place = chart.firstElementChild;
  const drawn = document.createElement("div");
  const made = await vegaEmbed(drawn, spec, { renderer: "svg", actions: false, tooltip: { theme } });
  place.replaceChildren(drawn);
  chart.view = made.view;
  chart.dataset.awake = "true";
  made.view.addEventListener("click", (event, item) => {
    const command = item && item.datum && item.datum.command;
    if (command) tell(chart, command, item.datum.text);
  });
}

function tell(chart, command, text) {
  const line = chart.parentElement.querySelector(".command");
  const code = document.createElement("code");
  code.textContent = command;
  const copy = button("copy", "copy the command", () => navigator.clipboard?.writeText(command));
  line.replaceChildren(code, copy, document.createElement("br"), text);
}

function name_of(chart) {
  const caption = chart.closest("figure").querySelector("figcaption").firstChild.textContent;
  return caption.trim().replace(/[^\w-]+/g, "-");
}

function wake(chart) {
  const spec = JSON.parse(chart.querySelector("script").textContent);
  chart.spec = spec;
  const caption = chart.closest("figure").querySelector("figcaption");
  const rows = spec.data.values;
  caption.append(
    button("CSV", "download the numbers of this chart", () => save(`${name_of(chart)}.csv`, csv(rows), "text/csv")),
    button("SVG", "download this chart", async () => save(`${name_of(chart)}.svg`, await chart.view.toSVG(), "image/svg+xml")),
  );
  return embed(chart, spec);
}

// A chart is drawn anew when it comes near: a page may have a hundred.
const near = new IntersectionObserver(
  (seen) => seen.filter((one) => one.isIntersecting).forEach((one) => {
    near.unobserve(one.target);
    wake(one.target);
  }),
  { rootMargin: "300px" },
);
document.querySelectorAll(".chart").forEach((chart) => near.observe(chart));
dark.addEventListener("change", () =>
  document.querySelectorAll(".chart[data-awake]").forEach((chart) => embed(chart, chart.spec)));

// The trade-off's axes.
document.querySelectorAll(".controls").forEach((controls) => {
  controls.hidden = false;
  const [y, x] = controls.querySelectorAll("select");
  controls.onchange = () =>
    controls.parentElement.querySelectorAll(".chart").forEach((chart) => {
      const spec = chart.spec || JSON.parse(chart.querySelector("script").textContent);
      for (const [axis, chosen] of [["x", x], ["y", y]]) {
        spec.encoding[axis].field = chosen.value;
        spec.encoding[axis].title = chosen.selectedOptions[0].textContent;
      }
      const front = spec.layer.find((layer) => layer.name === "front");
      front.transform[1].filter = `indexof(datum.best, '${x.value} ${y.value}') >= 0`;
      if (chart.spec) embed(chart, spec);
      else chart.querySelector("script").textContent = JSON.stringify(spec);
    });
});

// Tables sort by a column: numbers by value, empty cells last.
function value_of(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/[,▲▼]/g, ""));
  return text === "-" || text === "" ? null : /^[-+<▲▼\d.]/.test(text) && !isNaN(number) ? number : text;
}

function sort(table, column, down) {
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [value_of(row, column), row]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return down ? -order : order;
  });
  body.append(...keyed.map(([, row]) => row));
}

document.querySelectorAll("table").forEach((table) => {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.replaceChildren(button(head.textContent, "sort by this column", () => {
      const down = head.getAttribute("aria-sort") !== "descending" && !head.classList.contains("name")
        || head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, column, down);
    }));
  });
});

// Tables that sort and can be copied.
function enhanceTable(table) {
  const rows = [...table.tBodies].map((body) => [...body.rows]);
  const heads = table.tHead && table.tHead.rows.length === 1 ? [...table.tHead.rows[0].cells] : [];
  const plain = rows.flat().every((row) => row.cells.length === heads.length &&
    [...row.cells].every((cell) => cell.rowSpan === 1 && cell.colSpan === 1));
  if (!heads.length || !plain || rows.flat().length < 2) return;

  function sort(column, direction) {
    const number = heads[column].dataset.type === "number";
    const keyOf = (row) => {
      const cell = row.cells[column];
      const raw = cell.dataset.value !== undefined ? cell.dataset.value : cell.textContent.trim();
      if (!number) return raw;
      const value = raw === "" ? NaN : Number(raw.replace("\u2212", "-"));
      return Number.isNaN(value) ? null : value;
    };
    const compare = (a, b) => {
      const x = keyOf(a), y = keyOf(b);
      if (x === null || y === null) return (x === null) - (y === null); // no value: last
      const sign = number ? Math.sign(x - y) || 0 : x.localeCompare(y, undefined, { numeric: true });
      return direction * sign;
    };
    [...table.tBodies].forEach((body, i) =>
      body.append(...(direction ? [...rows[i]].sort(compare) : rows[i])));
    heads.forEach((head, i) => {
      if (i === column && direction) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }

  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const press = button("", () => {
      const now = head.getAttribute("aria-sort");
      sort(column, now === "ascending" ? -1 : now === "descending" ? 0 : 1);
    });
    press.append(...head.childNodes);
    head.append(press);
  });
}

async function copy(text, place) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (refused) {
    // Pages from files may not be allowed to: by a selection, or by hand.
    const area = make("textarea", { readonly: true, rows: 6, "aria-label": "text to copy" });
    area.value = text;
    place.append(area);
    area.focus();
    area.select();
    const done = document.execCommand && document.execCommand("copy");
    if (done) area.remove();
    else area.addEventListener("blur", () => area.remove());
    return done;
  }
}

function offerCopies(table, forms) {
  const bar = make("div", { class: "controls copies" });
  const said = make("span", { role: "status" });
  for (const [key, name] of [["csv", "CSV"], ["latex", "LaTeX"]]) {
    const text = forms && forms[key];
    if (typeof text !== "string" || !text) continue;
    bar.append(button("Copy " + name, async () => {
      said.textContent = (await copy(text, bar)) ? "copied" : "press Ctrl+C to copy";
    }));
  }
  if (!bar.children.length) return;
  bar.append(said);
  (table.closest(".scroll") || table).after(bar);
}

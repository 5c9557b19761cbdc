// Tables that sort when their head is clicked, and figures that open over the page. Both work from file://.
"use strict";

const FIRST_NUMBER = /^[-+]?(\d[\d,]*)?\.?\d+(e[-+]?\d+)?/i;

/** What a cell is ordered by: its first number, or its text. */
function key(row, column) {
  const text = (row.cells[column]?.textContent ?? "").trim().replace("\u2212", "-");
  const number = text.match(FIRST_NUMBER);
  return { text, number: number ? Number(number[0].replaceAll(",", "")) : NaN };
}

/** Order of two keys: numbers before words; empty cells are last whatever the direction. */
function compare(a, b, direction) {
  if (!a.text || !b.text) return Number(!a.text) - Number(!b.text);
  const known = Number(Number.isNaN(a.number)) - Number(Number.isNaN(b.number));
  if (known) return direction * known;
  const numbers = Number.isNaN(a.number) ? 0 : a.number - b.number;
  return direction * (numbers || a.text.localeCompare(b.text, "en", { numeric: true }));
}

function sort(table, head, column) {
  const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, key: key(row, column) }));
  rows.sort((a, b) => compare(a.key, b.key, direction));
  body.append(...rows.map((entry) => entry.row));
}

function makeSortable(table) {
  const heads = table.tHead?.rows[table.tHead.rows.length - 1]?.cells;
  // Cells that span several rows would come apart.
  if (!heads || table.tBodies.length !== 1 || table.querySelector("tbody [rowspan]")) return;
  Array.from(heads).forEach((head, column) => {
    head.setAttribute("aria-sort", "none");
    head.tabIndex = 0;
    head.title = "Sort by this column";
    head.addEventListener("click", () => sort(table, head, column));
    head.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort(table, head, column);
    });
  });
}

function makeLightbox() {
  const dialog = document.createElement("dialog");
  dialog.className = "lightbox";
  const close = document.createElement("button");
  close.textContent = "Close";
  close.autofocus = true;
  dialog.append(document.createElement("img"), document.createElement("p"), close);
  dialog.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  return dialog;
}

function enlarge(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const link = event.currentTarget;
  const dialog = document.querySelector("dialog.lightbox") ?? makeLightbox();
  const [image, caption] = dialog.children;
  image.src = link.href;
  image.alt = caption.textContent = link.querySelector("img").alt;
  dialog.showModal();
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("a.enlarge").forEach((link) => link.addEventListener("click", enlarge));

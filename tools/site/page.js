// Figures open enlarged, what is wider than its box shows that it scrolls, and on a phone tables of sentences are cards.
// Without this script all of it is still there to be read.
"use strict";

const BOXES = ".table-wrapper, .cell_output, article pre, math[display=block]";

function mark(box) {
  const beyond = box.scrollWidth - box.clientWidth;
  box.classList.toggle("fits", beyond < 2);
  box.classList.toggle("more-before", beyond > 1 && box.scrollLeft > 1);
  box.classList.toggle("more-after", beyond - box.scrollLeft > 1);
}

function watch(box) {
  const update = () => mark(box);
  box.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(box);
  update();
}

// Each cell of a table of sentences knows the name of its column, which a phone shows above it (style.css).
function deal(table) {
  const names = [...table.querySelectorAll("thead th")].map((name) => name.textContent.trim());
  const cells = [...table.querySelectorAll("tbody td")];
  if (names.length < 3 || !cells.some((cell) => cell.textContent.length > 80)) return;
  table.classList.add("cards");
  for (const cell of cells) cell.dataset.name = names[cell.cellIndex] ?? "";
}

// A figure as wide as the window, and never smaller than its text can be read.
function enlarge(figure) {
  const dialog = document.createElement("dialog");
  const picture = document.createElement("img");
  const legible = figure.getAttribute("width") || figure.naturalWidth / 2;
  picture.src = figure.src;
  picture.alt = figure.alt;
  picture.style.width = `max(${legible}px, min(95vw, ${figure.naturalWidth}px))`;
  dialog.className = "enlarged";
  dialog.append(picture);
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function offer(figure) {
  figure.tabIndex = 0;
  figure.setAttribute("role", "button");
  figure.title = "Enlarge";
  figure.addEventListener("click", () => enlarge(figure));
  figure.addEventListener("keydown", (event) => {
    if (event.key === "Enter") enlarge(figure);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("article table").forEach(deal);
  document.querySelectorAll(BOXES).forEach(watch);
  document.querySelectorAll("article :not(a) > img").forEach(offer);
});

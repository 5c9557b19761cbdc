// Figures open enlarged, and what is wider than its box shows that it scrolls.
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
  document.querySelectorAll(BOXES).forEach(watch);
  document.querySelectorAll("article :not(a) > img").forEach(offer);
});

// The board of any game: the server's picture, with its cells above it to point at.
//
// The server says which cells each legal move points at, one after another. A click on a cell
// narrows the moves; what several moves share to the end is asked with a button for each.

import {make, makeSvg} from "./api.js";

const centre = corners => {
  const sum = corners.reduce((a, b) => [a[0] + b[0], a[1] + b[1]], [0, 0]);
  return sum.map(value => value / corners.length);
};
const begins = (cells, chosen) => chosen.every((name, index) => cells[index] === name);

export class Board {
  constructor(onMove) {
    this.onMove = onMove;
    this.picture = make("img", {alt: "The board", draggable: false});
    this.overlay = makeSvg("svg", {role: "group", "aria-label": "Cells of the board"});
    this.frame = make("div", {className: "board hints"}, this.picture, this.overlay);
    this.choices = make("div", {className: "choices"});
    this.element = make("div", {className: "boardbox"}, this.frame, this.choices);
    this.chosen = [];
    this.legal = [];
    this.polygons = [];
    this.overlay.addEventListener("pointerdown", event => this.press(event));
    this.overlay.addEventListener("keydown", event => this.key(event));
  }

  // `active` says whether moves can be made; `choose` replaces the button texts of moves.
  show(position, active) {
    this.position = position;
    this.active = active;
    this.chosen = [];
    this.legal = active ? position.legal : [];
    this.source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(position.svg)}`;
    this.picture.src = this.source;
    this.picture.alt = `The board: ${position.position}`;
    this.frame.classList.toggle("waits", !active);
    const focused = document.activeElement?.dataset?.name;
    const box = position.box.join(" ");
    this.overlay.setAttribute("viewBox", box);
    this.marks = makeSvg("g");
    this.polygons = position.cells.map(cell => {
      const polygon = makeSvg("polygon", {points: cell.corners.map(c => c.join(",")).join(" "), class: "cell"});
      polygon.dataset.name = cell.name;
      polygon.middle = centre(cell.corners);
      return polygon;
    });
    this.overlay.replaceChildren(...this.polygons, this.marks);
    this.update();
    if (focused) this.polygons.find(one => one.dataset.name === focused && one.tabIndex === 0)?.focus();
  }

  // Moves that the chosen cells leave, and the cells that may come next.
  candidates() {
    return this.legal.filter(move => begins(move.cells, this.chosen));
  }

  update() {
    const left = this.candidates();
    const next = new Set(left.map(move => move.cells[this.chosen.length]).filter(Boolean));
    this.firsts = new Set(this.legal.map(move => move.cells[0]).filter(Boolean));
    const ways = new Set(this.legal.map(move => move.cells.length));
    const longest = Math.max(0, ...ways);
    for (const polygon of this.polygons) {
      const name = polygon.dataset.name;
      const chosen = this.chosen.includes(name);
      const open = next.has(name);
      const other = !open && this.chosen.length > 0 && this.firsts.has(name);
      polygon.setAttribute("class", `cell${open ? " open" : ""}${chosen ? " chosen" : ""}${this.firsts.has(name) && longest > 1 ? " grab" : ""}`);
      if (open || chosen || other) {
        polygon.tabIndex = 0;
        polygon.setAttribute("role", "button");
        polygon.setAttribute("aria-label", `${name}${chosen ? ", chosen" : ""}`);
      } else {
        polygon.removeAttribute("tabindex");
        polygon.removeAttribute("role");
      }
    }
    // Where every cell of an empty board is open, tinting all of them would tell nothing.
    this.frame.classList.toggle("hints", this.chosen.length > 0 || (ways.size === 1 && ways.has(1) && next.size < this.polygons.length / 3));
    const ended = this.chosen.length ? left.filter(move => move.cells.length === this.chosen.length) : [];
    const without = this.legal.filter(move => move.cells.length === 0);
    const buttons = [...ended, ...(this.chosen.length ? [] : without)].map(move =>
      make("button", {onclick: () => this.play(move)}, move.text));
    if (this.chosen.length) buttons.push(make("button", {onclick: () => this.reset()}, "cancel"));
    this.choices.replaceChildren(...buttons);
  }

  reset() {
    this.chosen = [];
    this.update();
  }

  play(move) {
    this.chosen = [];
    this.legal = [];
    this.onMove(move);
  }

  click(name) {
    const left = this.candidates().filter(move => move.cells[this.chosen.length] === name);
    if (left.length) {
      this.chosen.push(name);
      const only = left.length === 1 && left[0].cells.length === this.chosen.length;
      if (only) return this.play(left[0]);
    } else if (this.chosen.at(-1) === name || !this.firsts.has(name)) {
      this.chosen = [];
    } else {
      this.chosen = [name];
    }
    this.update();
    if (this.candidates().every(move => move.cells.length === this.chosen.length)) {
      this.choices.querySelector("button")?.focus();
    }
    return undefined;
  }

  // A press without movement is a click. A piece that is dragged to another cell is the same as a
  // click on each; a finger that scrolls the page plays nothing.
  press(event) {
    const polygon = event.target.closest?.(".cell");
    if (!polygon || !this.active || event.button) return;
    if (event.pointerType === "mouse") event.preventDefault();
    const name = polygon.dataset.name;
    const from = [event.clientX, event.clientY];
    const canDrag = this.legal.some(move => move.cells.length > 1 && move.cells[0] === name);
    let ghost = null;
    polygon.releasePointerCapture?.(event.pointerId);
    const follow = at => {
      if (!ghost && canDrag && Math.hypot(at.clientX - from[0], at.clientY - from[1]) > 6) {
        this.chosen = [name];
        this.update();
        ghost = this.ghost(polygon);
      }
      if (ghost) {
        ghost.style.left = `${at.clientX - ghost.offsetWidth / 2}px`;
        ghost.style.top = `${at.clientY - ghost.offsetHeight / 2}px`;
      }
    };
    const stop = () => {
      removeEventListener("pointermove", follow);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", stop);
      ghost?.remove();
    };
    const end = at => {
      stop();
      const target = document.elementFromPoint(at.clientX, at.clientY)?.closest?.(".cell");
      if (target === polygon) {
        if (!ghost) this.click(name);
      } else if (ghost) {
        if (target) this.click(target.dataset.name);
        else this.reset();
      }
    };
    addEventListener("pointermove", follow);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", stop);
  }

  ghost(polygon) {
    const cell = polygon.getBoundingClientRect();
    const board = this.picture.getBoundingClientRect();
    const image = make("img", {src: this.source, alt: ""});
    const ghost = make("div", {className: "ghost"}, image);
    image.style.width = `${board.width}px`;
    image.style.left = `${board.left - cell.left}px`;
    image.style.top = `${board.top - cell.top}px`;
    ghost.style.width = `${cell.width}px`;
    ghost.style.height = `${cell.height}px`;
    document.body.append(ghost);
    return ghost;
  }

  key(event) {
    const polygon = event.target.closest?.(".cell");
    if (!polygon) return;
    const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.click(polygon.dataset.name);
    } else if (event.key === "Escape") {
      this.reset();
    } else if (event.key in steps) {
      event.preventDefault();
      this.nearest(polygon, steps[event.key])?.focus();
    }
  }

  // The nearest cell in a direction among those that can be chosen.
  nearest(polygon, [dx, dy]) {
    let best = null;
    let least = Infinity;
    for (const other of this.polygons) {
      if (other === polygon || other.tabIndex !== 0) continue;
      const [x, y] = [other.middle[0] - polygon.middle[0], other.middle[1] - polygon.middle[1]];
      const along = x * dx + y * dy;
      const across = Math.abs(x * dy) + Math.abs(y * dx);
      if (along > 0 && along + 3 * across < least) {
        least = along + 3 * across;
        best = other;
      }
    }
    return best;
  }

  // Arrows and discs for moves: `[{cells, weight (0 to 1), text}]`.
  mark(marks) {
    if (!this.marks) return;
    // Of cells that share a name, such as a column, the first one.
    const middles = new Map([...this.polygons].reverse().map(one => [one.dataset.name, one]));
    const size = Math.sqrt(this.position.box[2] * this.position.box[3] / Math.max(9, this.polygons.length));
    const shapes = [];
    for (const {cells, weight, text} of marks) {
      const ends = cells.map(name => middles.get(name)?.middle).filter(Boolean);
      if (!ends.length) continue;
      const [x, y] = ends.at(-1);
      if (ends.length > 1) {
        for (let i = 1; i < ends.length; i++) shapes.push(arrow(ends[i - 1], ends[i], size * (0.06 + 0.16 * weight)));
      } else {
        shapes.push(makeSvg("circle", {cx: x, cy: y, r: size * (0.18 + 0.24 * weight), class: "mark filled"}));
      }
      if (text) {
        shapes.push(makeSvg("text", {x, y, "font-size": size * 0.27, "stroke-width": size * 0.05, class: "marktext"}, text));
      }
    }
    this.marks.replaceChildren(...shapes);
  }
}

function arrow([x1, y1], [x2, y2], width) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const head = Math.min(3 * width, length / 2);
  const [bx, by] = [x2 - dx * head, y2 - dy * head];
  const tip = [[x2, y2], [bx - dy * head * 0.6, by + dx * head * 0.6], [bx + dy * head * 0.6, by - dx * head * 0.6]];
  return makeSvg("g", {class: "arrow"},
    makeSvg("line", {x1, y1, x2: bx, y2: by, "stroke-width": width, class: "mark"}),
    makeSvg("polygon", {points: tip.map(p => p.join(",")).join(" "), class: "mark filled"}));
}

// Curves as SVG with readable axes; data is only ever set as text.

import {make, makeSvg} from "./api.js";

const WIDTH = 640, HEIGHT = 250, LEFT = 58, RIGHT = 14, TOP = 14, BOTTOM = 34;
const COLOURS = ["var(--accent)", "#d9730d", "#2e9e5b", "#9b51e0", "#c2255c", "#808a97"];

// Round steps of 1, 2 or 5 times a power of ten.
function ticks(low, high, wanted) {
  const raw = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= raw);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

export function short(value) {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return `${Number((value / unit).toPrecision(3))}${letter}`;
  }
  return String(Number(value.toPrecision(3)));
}

// `series`: [{name, points: [[x, y]...], band: [[x, low, high]...]}]; `onpick(x)` is called by clicks.
export function chart({title, series, xLabel, format = short, range = null, now = null, marks = [], onpick = null}) {
  const points = series.flatMap(one => [...one.points, ...(one.band ?? []).flatMap(([x, low, high]) => [[x, low], [x, high]])]);
  const holder = make("div", {className: "chart"});
  if (title) holder.append(make("h2", {}, title));
  if (!points.length) {
    holder.append(make("p", {className: "note"}, "Nothing was measured yet."));
    return holder;
  }
  const xs = points.map(p => p[0]), ys = points.map(p => p[1]);
  let [left, right] = [Math.min(...xs), Math.max(...xs)];
  let [low, high] = range ?? [Math.min(...ys), Math.max(...ys)];
  if (left === right) [left, right] = [left - 1, right + 1];
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  const x = value => LEFT + (value - left) / (right - left) * (WIDTH - LEFT - RIGHT);
  const y = value => HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
  const svg = makeSvg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": `${title || "Curve"}: ${series.map(one => `${one.name} ${one.points.length ? format(one.points.at(-1)[1]) : "unknown"}`).join(", ")}`});
  for (const value of ticks(low, high, 4)) {
    svg.append(makeSvg("line", {x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "grid"}),
      makeSvg("text", {x: LEFT - 7, y: y(value) + 4, "text-anchor": "end"}, format(value)));
  }
  for (const value of ticks(left, right, 6)) {
    svg.append(makeSvg("text", {x: x(value), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle"}, short(value)));
  }
  svg.append(makeSvg("text", {x: WIDTH - RIGHT, y: HEIGHT - 3, "text-anchor": "end"}, xLabel));
  series.forEach((one, index) => {
    const colour = COLOURS[index % COLOURS.length];
    if (one.band?.length) {
      const outline = [...one.band.map(([at, , top]) => [at, top]), ...[...one.band].reverse().map(([at, bottom]) => [at, bottom])];
      svg.append(makeSvg("polygon", {points: outline.map(([a, b]) => `${x(a)},${y(b)}`).join(" "), fill: colour, opacity: 0.15}));
    }
    const line = makeSvg("polyline", {points: one.points.map(([a, b]) => `${x(a)},${y(b)}`).join(" "), class: "curve"});
    line.style.stroke = colour;
    svg.append(line);
    if (one.points.length === 1) svg.append(makeSvg("circle", {cx: x(one.points[0][0]), cy: y(one.points[0][1]), r: 3, fill: colour}));
  });
  for (const [at, value, text] of marks) {
    svg.append(makeSvg("circle", {cx: x(at), cy: y(value), r: 5, class: "worst"}, makeSvg("title", {}, text)));
  }
  if (now !== null) svg.append(makeSvg("line", {x1: x(now), x2: x(now), y1: TOP, y2: HEIGHT - BOTTOM, class: "now"}));
  if (onpick) {
    svg.style.cursor = "pointer";
    svg.addEventListener("click", event => {
      const box = svg.getBoundingClientRect();
      onpick(left + ((event.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * (right - left));
    });
  }
  holder.append(svg);
  if (series.length > 1) {
    const legend = make("p", {className: "note"});
    series.forEach((one, index) => {
      const dot = make("span", {}, "● ");
      dot.style.color = COLOURS[index % COLOURS.length];
      legend.append(dot, `${one.name}  `);
    });
    holder.append(legend);
  }
  return holder;
}

// Draws the figures of a page. Dragging zooms, so does the wheel where it may; a double click shows all again; the legend shows and
// hides; the pointer tells what is under it. With the keyboard: arrows move, + and - zoom, Home shows all. Heads of tables sort. `report/figure.rs` says what a figure is made of.
"use strict";

const SPACE = { top: 12, right: 24, bottom: 44, left: 64, between: 28 };
const FONT = "12px sans-serif";
// How near the pointer must be to a mark, in pixels.
const NEAR = 24;
// What tells lines apart besides their colour.
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

// Adds the outline of a dot: a circle, a square, a triangle or a diamond.
function addDot(pen, shape, x, y) {
  const corners = [null, [[-4, -4], [4, -4], [4, 4], [-4, 4]], [[0, -5], [5, 4], [-5, 4]], [[0, -6], [5, 0], [0, 6], [-5, 0]]][shape];
  pen.beginPath();
  if (!corners) return pen.arc(x, y, 4, 0, 2 * Math.PI);
  corners.forEach(([dx, dy], i) => (i ? pen.lineTo(x + dx, y + dy) : pen.moveTo(x + dx, y + dy)));
  pen.closePath();
}

// Round numbers between two others, about as many as asked for.
function ticksBetween([least, most], count, log) {
  if (log) {
    const decades = [];
    const steps = Math.log10(most / least) > 3 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power++)
      for (const step of steps) decades.push(step * 10 ** power);
    const inside = decades.filter((tick) => tick >= least && tick <= most);
    if (inside.length > 1) return inside;
  }
  const rough = (most - least) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
  const ticks = [];
  // Counted rather than summed, so that 0.1 + 0.2 is not written out.
  for (let i = Math.ceil(least / step); i * step <= most; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

function numberText(number) {
  return Math.abs(number) >= 1e-4 || number === 0
    ? number.toLocaleString("en", { maximumSignificantDigits: 10 })
    : number.toExponential();
}

// What a series reaches along x and y.
function pointsOf(series) {
  return series.draw === "bars" ? series.at.flatMap(([from, to, y]) => [[from, y], [to, y]]) : series.at;
}

function rangeOf(axis, values) {
  if (axis.range) return axis.range;
  const shown = values.filter((value) => Number.isFinite(value) && (!axis.log || value > 0));
  let least = Infinity, most = -Infinity;
  for (const value of shown) (least = Math.min(least, value)), (most = Math.max(most, value));
  if (!shown.length) return axis.log ? [1, 10] : [0, 1];
  if (axis.log) return least < most ? [least / 1.1, most * 1.1] : [least / 2, least * 2];
  const margin = (most - least || Math.abs(most) || 1) * 0.04;
  // An axis whose values begin near zero begins there.
  return [least >= 0 && least < most / 3 ? 0 : least - margin, most + margin];
}

// Between values of an axis and pixels.
function scale(axis, [least, most], from, to) {
  const raw = axis.log ? Math.log : (value) => value;
  const back = axis.log ? Math.exp : (value) => value;
  const [begin, end] = [raw(least), raw(most)];
  return {
    pixel: (value) => from + ((raw(value) - begin) / (end - begin)) * (to - from),
    value: (pixel) => back(begin + ((pixel - from) / (to - from)) * (end - begin)),
  };
}

class Figure {
  constructor(place, spec) {
    this.place = place;
    this.spec = spec;
    this.hidden = new Set();
    place.className = "figure";
    this.canvas = place.appendChild(document.createElement("canvas"));
    this.canvas.style.height = `${spec.height}px`;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", place.getAttribute("aria-label"));
    this.tip = place.appendChild(document.createElement("div"));
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.addLegend(place.appendChild(document.createElement("div")));
    this.reset();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(place);
  }

  panels() {
    return this.spec.under ? [this.spec.y, this.spec.under[0]] : [this.spec.y];
  }

  // Shows all of it.
  reset() {
    const of = (under) => this.spec.series.filter((series) => under === undefined || series.under === under);
    const values = (series, axis) => series.flatMap(pointsOf).map((point) => point[axis]);
    this.x = rangeOf(this.spec.x, values(of(), 0));
    this.y = this.panels().map((axis, panel) => rangeOf(axis, values(of(panel === 1), 1)));
  }

  addLegend(legend) {
    legend.className = "legend";
    let group;
    const shown = this.spec.series.filter((series) => series.legend);
    if (shown.length < 2 && !shown.some((series) => series.group)) return;
    for (const series of shown) {
      if (series.group && series.group !== group) {
        group = series.group;
        legend.appendChild(document.createElement("b")).textContent = group;
      }
      const entry = legend.appendChild(document.createElement("button"));
      const colour = entry.appendChild(document.createElement("i"));
      colour.style.background = series.colour;
      colour.className = series.draw === "bars" ? "" : `${series.draw === "dots" ? "dot" : "line"} shape-${series.shape ?? 0}`;
      if (series.draw === "line") colour.style.color = series.colour;
      entry.append(series.name);
      entry.setAttribute("aria-pressed", "true");
      entry.onclick = () => {
        const key = this.keyOf(series);
        this.hidden.has(key) ? this.hidden.delete(key) : this.hidden.add(key);
        entry.style.opacity = this.hidden.has(key) ? 0.4 : 1;
        entry.setAttribute("aria-pressed", String(!this.hidden.has(key)));
        this.draw();
      };
    }
  }

  keyOf(series) {
    return `${series.group ?? ""}/${series.name}`;
  }

  visible() {
    return this.spec.series.filter((series) => !this.hidden.has(this.keyOf(series)));
  }

  // Where the panels are, and the scales of both directions.
  layOut() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const pen = this.canvas.getContext("2d");
    pen.font = FONT;
    const names = (this.spec.y.ticks ?? []).map(([, name]) => pen.measureText(name).width);
    const left = Math.max(SPACE.left, ...names.map((name) => name + 16));
    const [right, bottom] = [width - SPACE.right, height - SPACE.bottom];
    const title = this.spec.title ? 22 : 0;
    const top = SPACE.top + title;
    const split = this.spec.under ? bottom - (bottom - top) * this.spec.under[1] : bottom;
    const edges = this.spec.under ? [[top, split - SPACE.between], [split, bottom]] : [[top, bottom]];
    const x = scale(this.spec.x, this.x, left, right);
    const panels = this.panels().map((axis, i) => ({
      axis, range: this.y[i], top: edges[i][0], bottom: edges[i][1], ...scale(axis, this.y[i], edges[i][1], edges[i][0]),
    }));
    return { width, height, left, right, x, panels };
  }

  draw() {
    const at = (this.at = this.layOut());
    const sharp = window.devicePixelRatio || 1;
    this.canvas.width = at.width * sharp;
    this.canvas.height = at.height * sharp;
    const pen = this.canvas.getContext("2d");
    pen.scale(sharp, sharp);
    pen.font = FONT;
    this.ink = this.printed ? "black" : getComputedStyle(this.place).color;
    this.drawAxes(pen, at);
    at.panels.forEach((panel, i) => {
      pen.save();
      pen.beginPath();
      pen.rect(at.left, panel.top, at.right - at.left, panel.bottom - panel.top);
      pen.clip();
      for (const series of this.visible()) if (series.under === (i === 1)) this.drawSeries(pen, series, at.x, panel);
      pen.restore();
    });
    if (this.drag) {
      pen.fillStyle = "rgba(128, 128, 128, 0.3)";
      const { x0, y0, x1, y1 } = this.box();
      pen.fillRect(x0, y0, x1 - x0, y1 - y0);
    }
  }

  drawAxes(pen, at) {
    const faint = "rgba(128, 128, 128, 0.3)";
    const line = (x0, y0, x1, y1) => (pen.beginPath(), pen.moveTo(x0, y0), pen.lineTo(x1, y1), pen.stroke());
    pen.fillStyle = this.ink;
    pen.strokeStyle = faint;
    pen.lineWidth = 1;
    const last = at.panels[at.panels.length - 1];
    pen.textAlign = "center";
    let free = -Infinity;
    for (const tick of ticksBetween(this.x, (at.right - at.left) / 90, this.spec.x.log)) {
      const x = at.x.pixel(tick);
      for (const panel of at.panels) line(x, panel.top, x, panel.bottom);
      const half = pen.measureText(numberText(tick)).width / 2;
      if (x - half < free) continue;
      pen.fillText(numberText(tick), x, last.bottom + 16);
      free = x + half + 6;
    }
    pen.fillText(this.spec.x.title, (at.left + at.right) / 2, last.bottom + 36);
    // Narrow letters rather than an end cut off.
    if (this.spec.title) pen.fillText(this.spec.title, at.width / 2, 16, at.width - 8);
    for (const panel of at.panels) {
      pen.textAlign = "right";
      const named = panel.axis.ticks;
      const ticks = named ?? ticksBetween(panel.range, (panel.bottom - panel.top) / 50, panel.axis.log)
        .map((tick) => [tick, numberText(tick)]);
      for (const [tick, name] of ticks) {
        const y = panel.pixel(tick);
        if (!named) line(at.left, y, at.right, y);
        pen.fillText(name, at.left - 8, y + 4);
      }
      pen.save();
      pen.translate(14, (panel.top + panel.bottom) / 2);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "center";
      pen.fillText(panel.axis.title, 0, 0);
      pen.restore();
    }
  }

  drawSeries(pen, series, x, panel) {
    pen.fillStyle = pen.strokeStyle = series.colour;
    if (series.draw === "bars") {
      pen.setLineDash(series.dotted ? [2, 3] : []);
      pen.lineWidth = series.thick;
      pen.beginPath();
      for (const [from, to, y] of series.at) {
        if (to < this.x[0] || from > this.x[1]) continue;
        // Ends far outside would cost the canvas its precision, and a bar thinner than a pixel would not be seen.
        const begin = x.pixel(Math.max(from, this.x[0]));
        pen.moveTo(begin, panel.pixel(y));
        pen.lineTo(Math.max(x.pixel(Math.min(to, this.x[1])), begin + 0.5), panel.pixel(y));
      }
      pen.stroke();
      pen.setLineDash([]);
    } else if (series.draw === "dots") {
      for (const point of series.at) {
        addDot(pen, series.shape ?? 0, x.pixel(point[0]), panel.pixel(point[1]));
        pen.fill();
      }
    } else {
      pen.lineWidth = 2;
      pen.setLineDash(DASHES[series.shape ?? 0]);
      pen.beginPath();
      let before;
      for (const point of series.at) {
        const [px, py] = [x.pixel(point[0]), panel.pixel(point[1])];
        if (series.steps && before !== undefined) pen.lineTo(px, before);
        before === undefined ? pen.moveTo(px, py) : pen.lineTo(px, py);
        before = py;
      }
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  // What the pointer is on, or nearest to.
  find(px, py) {
    const { x, panels } = this.at;
    const panel = panels.findIndex((panel) => py >= panel.top && py <= panel.bottom);
    let found, nearest = NEAR;
    for (const series of this.visible().filter((series) => panel >= 0 && series.under === (panel === 1))) {
      series.at.forEach((mark, i) => {
        const [from, to] = series.draw === "bars" ? mark : [mark[0], mark[0]];
        const [begin, end] = [x.pixel(from), x.pixel(to)];
        const aside = Math.max(begin - px, px - end, 0);
        const away = Math.hypot(aside, panels[panel].pixel(mark[mark.length - 1]) - py);
        // Of two as near, the one that is drawn in front.
        if (away <= nearest) (nearest = away), (found = { series, mark, i });
      });
    }
    if (!found) return undefined;
    const { series, mark, i } = found;
    return series.told?.[i] ?? `${series.name}\n${mark.map((number) => numberText(Number(number.toPrecision(5)))).join(", ")}`;
  }

  box() {
    const { x0, y0, x1, y1, panel } = this.drag;
    const whole = !panel || panel.axis.ticks || Math.abs(y1 - y0) < 10;
    const { top, bottom } = whole ? { top: this.at.panels[0].top, bottom: this.at.panels.at(-1).bottom } : panel;
    const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
    const [left, right] = [this.at.left, this.at.right];
    return {
      whole,
      x0: clamp(Math.min(x0, x1), left, right),
      x1: clamp(Math.max(x0, x1), left, right),
      y0: whole ? top : clamp(Math.min(y0, y1), top, bottom),
      y1: whole ? bottom : clamp(Math.max(y0, y1), top, bottom),
    };
  }

  listen() {
    const where = (event) => {
      const { left, top } = this.canvas.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    this.canvas.onpointerdown = (event) => {
      const [x, y] = where(event);
      const panel = this.at.panels.find((panel) => y >= panel.top && y <= panel.bottom);
      this.drag = { x0: x, y0: y, x1: x, y1: y, panel };
      this.canvas.setPointerCapture(event.pointerId);
    };
    this.canvas.onpointermove = (event) => {
      const [x, y] = where(event);
      if (this.drag) {
        Object.assign(this.drag, { x1: x, y1: y });
        this.draw();
      }
      const told = this.drag ? undefined : this.find(x, y);
      this.tip.hidden = !told;
      if (!told) return;
      this.tip.textContent = told;
      const beside = x > this.at.width / 2 ? x - this.tip.offsetWidth - 12 : x + 12;
      Object.assign(this.tip.style, { left: `${Math.max(0, beside)}px`, top: `${y + 12}px` });
    };
    this.canvas.onpointerup = () => this.zoomToDrag();
    this.canvas.onpointerleave = () => (this.tip.hidden = true);
    this.canvas.onkeydown = (event) => this.moveBy(event);
    // On paper it is drawn in black, whatever the screen has.
    for (const [when, printed] of [["beforeprint", true], ["afterprint", false]])
      window.addEventListener(when, () => ((this.printed = printed), this.draw()));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.canvas.ondblclick = () => (this.reset(), this.draw());
    if (this.spec.wheel)
      this.canvas.addEventListener("wheel", (event) => this.zoomAt(where(event)[0], event), { passive: false });
  }

  moveBy(event) {
    const { left, right, x } = this.at;
    const step = (right - left) / 10;
    const [from, to] = { ArrowLeft: [-step, -step], ArrowRight: [step, step], "+": [step, -step], "-": [-step, step] }[event.key] ?? [];
    if (event.key === "Home") this.reset();
    else if (from === undefined) return;
    else this.x = [x.value(left + from), x.value(right + to)];
    event.preventDefault();
    this.draw();
  }

  zoomToDrag() {
    if (!this.drag) return;
    const { x0, x1, y0, y1, whole } = this.box();
    const { panel } = this.drag;
    this.drag = undefined;
    if (x1 - x0 >= 4) {
      this.x = [this.at.x.value(x0), this.at.x.value(x1)];
      if (!whole) this.y[this.at.panels.indexOf(panel)] = [panel.value(y1), panel.value(y0)];
    }
    this.draw();
  }

  zoomAt(px, event) {
    event.preventDefault();
    const factor = event.deltaY > 0 ? 1.25 : 0.8;
    const edge = (pixel) => this.at.x.value(px + (pixel - px) * factor);
    this.x = [edge(this.at.left), edge(this.at.right)];
    this.draw();
  }
}

// Sorts a table by a column, numbers by size and before words; again, the other way round.
function sortBy(head) {
  const table = head.closest("table");
  const column = [...head.parentNode.children].indexOf(head);
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = (row) => row.children[column].textContent;
  const order = (one, other) => {
    const [a, b] = [Number(one), Number(other)];
    if (Number.isNaN(a) && Number.isNaN(b)) return one.localeCompare(other);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return a - b;
  };
  const rows = [...table.tBodies[0].rows].sort((one, other) => (up ? 1 : -1) * order(key(one), key(other)));
  table.tBodies[0].append(...rows);
}

for (const button of document.querySelectorAll("th button")) button.onclick = () => sortBy(button.parentNode);

for (const data of document.querySelectorAll("script[type='application/json']"))
  new Figure(document.getElementById(data.dataset.figure), JSON.parse(data.textContent));

// Moves a pointer over the first figure of a page: node pointer.js PAGE.html
"use strict";
const assert = require("assert");
const html = require("fs").readFileSync(process.argv[2], "utf8");
const data = [...html.matchAll(/<script type="application\/json" data-figure="(.*?)">(.*?)<\/script>/gs)];
const script = html.match(/<script>\n(.*)<\/script>/s)[1];

// The texts that were drawn since they were last looked at.
let drawn = [];
const pen = new Proxy({}, {
  get: (pen, key) => pen[key] ?? ((...given) => (key === "fillText" && drawn.push(given[0]), { width: 50 })),
  set: (pen, key, value) => ((pen[key] = value), true),
});

class Element {
  style = {};
  children = [];
  offsetWidth = 100;
  constructor(tag) { this.tag = tag; }
  appendChild(child) { this.children.push(child); return child; }
  append(text) { this.textContent = text; }
  getBoundingClientRect() { return { left: 0, top: 0, width: 800, height: 480 }; }
  getContext() { return pen; }
  attributes = {};
  setAttribute(name, value) { this.attributes[name] = value; }
  getAttribute(name) { return this.attributes[name] ?? null; }
  addEventListener() {}
  setPointerCapture() {}
}

const places = new Map();
const place = (id) => places.get(id) ?? places.set(id, new Element("div")).get(id);
globalThis.window = { devicePixelRatio: 2, addEventListener() {}, matchMedia: () => ({ matches: false, addEventListener() {} }) };
globalThis.getComputedStyle = () => ({ color: "black" });
globalThis.ResizeObserver = class {
  constructor(resized) { this.resized = resized; }
  observe() { this.resized(); }
};
globalThis.document = {
  createElement: (tag) => new Element(tag),
  getElementById: place,
  querySelectorAll: () => data.map(([, figure, textContent]) => ({ dataset: { figure }, textContent })),
};
(0, eval)(script);

const [canvas, tip, legend] = place("figure-1").children;
const ticks = (act) => ((drawn = []), act(), drawn.filter((text) => /^[\d,.]+$/.test(text)).join(" "));
const whole = ticks(() => canvas.ondblclick());
assert(whole.includes("0") && whole.includes("2,000"), `axes from end to end: ${whole}`);

// Hovering tells what is there.
for (let x = 70; x < 790 && !tip.textContent; x += 5)
  for (let y = 20; y < 430; y += 5) canvas.onpointermove({ clientX: x, clientY: y });
assert(/^(np|v)IO(, published)?\n\d/.test(tip.textContent), `the pointer tells the series: ${tip.textContent}`);

// Dragging zooms, a double click shows all again.
const zoomed = ticks(() => {
  canvas.onpointerdown({ clientX: 200, clientY: 100, pointerId: 1 });
  canvas.onpointermove({ clientX: 300, clientY: 200 });
  drawn = [];
  canvas.onpointerup();
});
assert(zoomed && !zoomed.includes("2,000"), `zoomed: ${zoomed}`);
assert.equal(ticks(() => canvas.ondblclick()), whole);

// The legend hides.
const entries = legend.children.filter((child) => child.tag === "button");
assert.equal(entries.length, 4);
let shown = 0;
pen.stroke = () => shown++;
canvas.ondblclick();
const before = shown;
entries[0].onclick();
assert.equal(shown - before, before - 1, "one line fewer");

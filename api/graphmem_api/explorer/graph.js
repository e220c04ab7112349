// A graph drawn on a canvas by a small force layout, with a list of the same nodes for keyboards and screen readers.

import { begun, button, counted, field, go, inline, link, make } from "./dom.js";

const COLOURS = ["#4477aa", "#cc6677", "#228833", "#aa8800", "#117788", "#aa3377", "#777777"];
const LABELLED = 60;
const RADIUS = 7;
const SETTLED = 0.01;
const MOST = 2000; // nodes: the forces of twice as many take longer than a frame
const MARGIN = 40;
const ZOOM = 1.15;

// Characters that turn the direction of a text, and control characters, have no place in a label on a canvas.
const UNSEEN = /[\p{Cc}\p{Cf}]/gu;

const kindOf = (node) => node.labels.find((label) => label !== "Memory") ?? node.labels[0] ?? "Node";

function labelOf(node) {
  const { name, title, text, label, external_id: external, id } = node.properties;
  const whole = String(name ?? title ?? label ?? text ?? external ?? id ?? node.id);
  const shown = begun(whole, 200).replace(UNSEEN, " ").trim();
  return shown.length > 28 ? `${begun(shown, 27)}…` : shown || node.id;
}

export class Graph {
  // `expand(id)` returns another neighbourhood, or is left out where nothing can be expanded.
  constructor({ expand, height } = {}) {
    this.nodes = new Map();
    this.edges = new Map();
    this.hidden = new Set();
    this.expanding = expand;
    this.colours = new Map();
    this.view = { x: 0, y: 0, scale: 1 };
    this.fitted = true; // until somebody moves the view
    this.full = false;
    this.heat = 0;
    this.frames = 0;
    this.canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": "Graph: arrows choose a node, Enter opens it, E expands it, plus and minus zoom, 0 shows all" });
    if (height) this.canvas.style.height = height;
    this.types = make("fieldset", { class: "fields" });
    this.missing = make("div", { class: "missing", "aria-live": "polite" });
    this.told = make("p", { class: "soft", role: "status" });
    this.list = make("ul", { class: "items" });
    this.element = make("div", { class: "graph" }, this.types, this.canvas, this.told, this.missing, make("details", {}, make("summary", {}, "The nodes as a list"), this.list));
    this.listen();
  }

  add({ nodes, edges, why = [] }, around) {
    const beside = this.nodes.get(around);
    for (const node of nodes) {
      if (this.nodes.has(node.id)) continue;
      this.full ||= this.nodes.size >= MOST;
      if (this.full) break;
      const angle = this.nodes.size * 2.4;
      const far = 12 * Math.sqrt(this.nodes.size + 1);
      const x = (beside?.x ?? 0) + far * Math.cos(angle);
      const y = (beside?.y ?? 0) + far * Math.sin(angle);
      this.nodes.set(node.id, { node, x, y, dx: 0, dy: 0, label: labelOf(node), kind: kindOf(node) });
      if (!this.colours.has(kindOf(node))) this.colours.set(kindOf(node), COLOURS[this.colours.size % COLOURS.length]);
    }
    for (const edge of edges) this.edges.set(`${edge.from} ${edge.type} ${edge.to}`, edge);
    this.tellMissing(why);
    this.listTypes();
    this.arrange();
    return this;
  }

  async expand(id) {
    if (!this.expanding) return;
    this.told.textContent = "Expanding …";
    try {
      this.add(await this.expanding(id), id);
    } catch (problem) {
      this.told.textContent = problem.message;
    }
  }

  // What is drawn: the edges of the chosen types, and the nodes that they reach, the first one always.
  arrange() {
    const ends = new Set([this.nodes.keys().next().value]);
    this.lines = [];
    for (const edge of this.edges.values()) {
      const from = this.nodes.get(edge.from);
      const to = this.nodes.get(edge.to);
      if (this.hidden.has(edge.type) || !from || !to) continue;
      this.lines.push([from, to, edge.type]);
      ends.add(edge.from).add(edge.to);
    }
    const all = this.hidden.size === 0;
    this.points = [...this.nodes.values()].filter((point) => all || ends.has(point.node.id));
    this.chosen = this.points.includes(this.chosen) ? this.chosen : this.points[0];
    this.tell();
    this.listNodes();
    this.warm();
  }

  tell() {
    const legend = [...this.colours].map(([kind, colour]) => {
      const swatch = make("span", { class: "swatch" });
      swatch.style.background = colour;
      return make("span", {}, swatch, kind, " ");
    });
    this.told.replaceChildren(`${counted(this.points.length, "node")}, ${counted(this.lines.length, "edge")}. `, ...legend);
  }

  tellMissing(why) {
    const places = (cut) => cut.at.map((id) => [" ", link("node", { id }, this.nodes.get(id)?.label ?? id)]);
    const full = this.full && make("p", { class: "notice" }, `Not everything is shown: a picture has at most ${counted(MOST, "node")}.`);
    this.missing.replaceChildren(...(full ? [full] : []), ...why.map((cut) => make("p", { class: "notice" }, `Not everything is shown (${cut.reason.replaceAll("_", " ")}): `, make("bdi", {}, cut.remedy), ". At", places(cut))));
  }

  listTypes() {
    const counts = new Map();
    for (const { type } of this.edges.values()) counts.set(type, (counts.get(type) ?? 0) + 1);
    const boxes = [...counts].sort().map(([type, count]) => {
      const change = (event) => {
        this.hidden[event.target.checked ? "delete" : "add"](type);
        this.arrange();
      };
      return field(` ${type} (${count})`, make("input", { type: "checkbox", name: type, checked: !this.hidden.has(type), on: { change } }), "check");
    });
    this.types.replaceChildren(make("legend", {}, "Types of edges"), ...(boxes.length ? boxes : ["none"]));
  }

  listNodes() {
    this.list.replaceChildren(
      ...this.points.slice(0, 500).map((point) =>
        make("li", {}, `${point.kind}: `, link("node", { id: point.node.id }, inline(point.label)), " ", this.expanding && button("Expand", () => this.expand(point.node.id))),
      ),
    );
  }

  warm() {
    this.heat = 1;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) while (this.heat > SETTLED) this.step();
    this.request();
  }

  request() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (!this.canvas.isConnected && this.frames > 0) return;
      if (this.heat > SETTLED) this.step();
      this.paint();
      this.frames += 1;
      this.canvas.dataset.frames = this.frames;
      if (this.heat > SETTLED || !this.canvas.isConnected) this.request();
    });
  }

  // Nodes repel each other, edges pull, and everything is drawn to the middle (Fruchterman and Reingold, 1991).
  step() {
    const { points, heat } = this;
    // Labels need room.
    const [strength, length] = points.length <= LABELLED ? [4000, 170] : [700, 60];
    for (let i = 0; i < points.length; i += 1) {
      const a = points[i];
      a.dx -= a.x * 0.01;
      a.dy -= a.y * 0.01;
      for (let j = i + 1; j < points.length; j += 1) {
        const b = points[j];
        const x = a.x - b.x;
        const y = a.y - b.y;
        const push = Math.min(strength / (x * x + y * y + 1), 8);
        a.dx += x * push * 0.05;
        a.dy += y * push * 0.05;
        b.dx -= x * push * 0.05;
        b.dy -= y * push * 0.05;
      }
    }
    for (const [a, b] of this.lines) {
      const x = b.x - a.x;
      const y = b.y - a.y;
      const far = Math.hypot(x, y) || 1;
      const pull = (0.06 * (far - length)) / far;
      a.dx += x * pull;
      a.dy += y * pull;
      b.dx -= x * pull;
      b.dy -= y * pull;
    }
    for (const point of points) {
      const far = Math.hypot(point.dx, point.dy);
      const most = 20 * heat;
      const share = far > most ? most / far : 1;
      if (point !== this.held) {
        point.x += point.dx * share;
        point.y += point.dy * share;
      }
      point.dx = point.dy = 0;
    }
    this.heat *= 0.98;
  }

  // The whole graph within the canvas, never enlarged.
  fit(width, height) {
    const across = this.points.map((point) => point.x);
    const down = this.points.map((point) => point.y);
    const [left, right, top, bottom] = [Math.min(...across), Math.max(...across), Math.min(...down), Math.max(...down)];
    const labels = this.points.length <= LABELLED ? 150 : 0;
    const scale = Math.min(1, (width - MARGIN) / (right - left + labels + 1), (height - MARGIN) / (bottom - top + 1));
    this.view = { scale: Math.max(scale, 0.02), x: (-scale * (left + right + labels)) / 2, y: (-scale * (top + bottom)) / 2 };
  }

  paint() {
    const { canvas } = this;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    if (this.fitted && this.points.length) this.fit(width, height);
    const { view } = this;
    const style = getComputedStyle(canvas);
    const [ink, line] = [style.getPropertyValue("--ink"), style.getPropertyValue("--soft")];
    const to = canvas.getContext("2d");
    to.setTransform(ratio, 0, 0, ratio, 0, 0);
    to.clearRect(0, 0, width, height);
    to.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * (width / 2 + view.x), ratio * (height / 2 + view.y));
    this.paintLines(to, line);
    this.paintPoints(to, ink, this.seen(width, height));
  }

  // The points within the canvas: others need no drawing.
  seen(width, height) {
    const { x, y, scale } = this.view;
    const [across, down] = [width / 2 / scale + RADIUS, height / 2 / scale + RADIUS];
    const [middle, centre] = [-x / scale, -y / scale];
    return this.points.filter((point) => Math.abs(point.x - middle) <= across && Math.abs(point.y - centre) <= down);
  }

  // One path for all lines, and one for the points of a colour: a call of the canvas costs more than a point.
  paintLines(to, line) {
    to.strokeStyle = line;
    to.lineWidth = 0.7 / Math.min(1, this.view.scale);
    to.beginPath();
    for (const [a, b] of this.lines) {
      to.moveTo(a.x, a.y);
      to.lineTo(b.x, b.y);
    }
    to.stroke();
  }

  paintPoints(to, ink, seen) {
    const radius = RADIUS / Math.min(1, Math.max(this.view.scale, 0.3));
    for (const [kind, colour] of this.colours) {
      to.fillStyle = colour;
      to.beginPath();
      for (const point of seen) {
        if (point.kind !== kind) continue;
        to.moveTo(point.x + radius, point.y);
        to.arc(point.x, point.y, radius, 0, 2 * Math.PI);
      }
      to.fill();
    }
    const small = 1 / Math.min(1, this.view.scale);
    to.fillStyle = ink;
    to.font = `${11 * small}px system-ui, sans-serif`;
    const labelled = seen.length <= LABELLED ? seen : seen.filter((point) => point === this.chosen);
    for (const point of labelled) to.fillText(point.label, point.x + radius + 3, point.y + 4 * small);
    if (!this.chosen) return;
    to.strokeStyle = ink;
    to.lineWidth = 2.5 * small;
    to.beginPath();
    to.arc(this.chosen.x, this.chosen.y, radius, 0, 2 * Math.PI);
    to.stroke();
  }

  at(event) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const x = (event.offsetX - width / 2 - this.view.x) / this.view.scale;
    const y = (event.offsetY - height / 2 - this.view.y) / this.view.scale;
    const far = (RADIUS + 3) / Math.min(1, this.view.scale);
    const near = this.points.find((point) => Math.hypot(point.x - x, point.y - y) < far);
    return { x, y, near };
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.grasp(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (this.held = this.panning = undefined));
    canvas.addEventListener("dblclick", (event) => {
      const { near } = this.at(event);
      if (near) this.expand(near.node.id);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, event.offsetX - canvas.clientWidth / 2, event.offsetY - canvas.clientHeight / 2);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.request()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.request());
  }

  grasp(event) {
    const { near } = this.at(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.fitted = false;
    if (near) this.held = this.chosen = near;
    else this.panning = true;
    this.request();
  }

  drag(event) {
    if (this.held) {
      const { x, y } = this.at(event);
      Object.assign(this.held, { x, y });
      this.heat = Math.max(this.heat, 0.2);
    } else if (this.panning) {
      this.view.x += event.movementX;
      this.view.y += event.movementY;
    } else return;
    this.request();
  }

  // The place under the pointer, from the middle of the canvas, stays where it is.
  zoom(factor, x = 0, y = 0) {
    const { view } = this;
    const scale = Math.min(8, Math.max(0.02, view.scale * factor));
    const grown = scale / view.scale;
    this.fitted = false;
    this.view = { scale, x: x - (x - view.x) * grown, y: y - (y - view.y) * grown };
    this.request();
  }

  press(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key in steps && this.points.length) {
      const next = this.points.indexOf(this.chosen) + steps[event.key] + this.points.length;
      this.chosen = this.points[next % this.points.length];
    } else if (event.key === "Enter" && this.chosen) go("node", { id: this.chosen.node.id });
    else if (event.key === "e" && this.chosen) this.expand(this.chosen.node.id);
    else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? ZOOM : 1 / ZOOM);
    else if (event.key === "0") this.fitted = true;
    else return;
    event.preventDefault();
    this.request();
  }
}

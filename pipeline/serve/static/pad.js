// The drawing area: strokes by pointer or keys, or a picture that was opened.

const STROKE = 0.075; // Width, as a part of the side.
const STEP = 0.04; // Of an arrow key, likewise.
const SENT = 280; // Side of what is sent, in pixels.

const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

export class Pad extends EventTarget {
  #canvas;
  #strokes = []; // Lists of [x, y] from 0 to 1.
  #picture = null; // {file, bitmap}
  #drawing = false;
  #pen = {at: [0.5, 0.5], down: false, shown: false};
  #pressed = new Set();

  constructor(canvas) {
    super();
    this.#canvas = canvas;
    canvas.addEventListener('pointerdown', (event) => this.#start(event));
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    for (const end of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(end, () => { this.#drawing = false; });
    }
    canvas.addEventListener('keydown', (event) => this.#keyDown(event));
    canvas.addEventListener('keyup', (event) => this.#pressed.delete(event.key));
    canvas.addEventListener('blur', () => this.#liftPen());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint());
    new ResizeObserver(() => this.#fitToScreen()).observe(canvas);
  }

  // Whether a picture was opened, and nothing drawn since.
  get picture() {
    return this.#picture !== null;
  }

  get empty() {
    return this.#strokes.length === 0 && !this.#picture;
  }

  clear() {
    this.#strokes = [];
    this.#picture = null;
    this.#liftPen();
    this.#changed();
  }

  undo() {
    this.#picture = null;
    this.#strokes.pop();
    this.#changed();
  }

  async open(file) {
    this.#picture = {file, bitmap: await createImageBitmap(file)};
    this.#strokes = [];
    this.#liftPen();
    this.#changed();
  }

  // What is to be recognized, as a PNG or JPEG file: the picture as it is, or the strokes in black.
  async file() {
    if (this.#picture) return this.#picture.file;
    const canvas = new OffscreenCanvas(SENT, SENT);
    const context = canvas.getContext('2d');
    context.fillStyle = 'white';
    context.fillRect(0, 0, SENT, SENT);
    drawStrokes(context, this.#strokes, SENT, 'black');
    return canvas.convertToBlob();
  }

  #start(event) {
    if (event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#drawing = true;
    this.#pen.shown = false;
    this.#begin(this.#position(event));
  }

  #move(event) {
    if (!this.#drawing) return;
    const parts = event.getCoalescedEvents();
    this.#extend(...(parts.length ? parts : [event]).map((part) => this.#position(part)));
  }

  #keyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') this.clear();
    else if (event.key === ' ') this.#togglePen();
    else if (event.key in ARROWS) this.#movePen(event.key);
    else return;
    event.preventDefault();
  }

  #togglePen() {
    this.#pen.down = !this.#pen.down;
    this.#pen.shown = true;
    if (this.#pen.down) this.#begin(this.#pen.at);
    else this.#paint();
  }

  #movePen(key) {
    this.#pressed.add(key);
    this.#pen.shown = true;
    for (const pressed of this.#pressed) {
      this.#pen.at = this.#pen.at.map(
        (value, axis) => Math.min(1, Math.max(0, value + STEP * ARROWS[pressed][axis])));
    }
    if (this.#pen.down) this.#extend(this.#pen.at);
    else this.#paint();
  }

  #liftPen() {
    this.#pen = {...this.#pen, down: false, shown: false};
    this.#pressed.clear();
    this.#paint();
  }

  #begin(point) {
    this.#picture = null;
    this.#strokes.push([point]);
    this.#changed();
  }

  #extend(...points) {
    this.#strokes.at(-1).push(...points);
    this.#changed();
  }

  #position(event) {
    const box = this.#canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  #changed() {
    this.#paint();
    this.dispatchEvent(new Event('change'));
  }

  #fitToScreen() {
    this.#canvas.width = this.#canvas.clientWidth * devicePixelRatio;
    this.#canvas.height = this.#canvas.clientHeight * devicePixelRatio;
    this.#paint();
  }

  #paint() {
    const context = this.#canvas.getContext('2d');
    const side = this.#canvas.width;
    const style = getComputedStyle(this.#canvas);
    context.clearRect(0, 0, side, side);
    if (this.#picture) drawPicture(context, this.#picture.bitmap, side);
    drawStrokes(context, this.#strokes, side, style.color);
    if (this.#pen.shown) drawPen(context, this.#pen, side, style.getPropertyValue('--accent'));
  }
}

function drawStrokes(context, strokes, side, color) {
  context.strokeStyle = color;
  context.lineWidth = STROKE * side;
  context.lineCap = context.lineJoin = 'round';
  for (const stroke of strokes) {
    context.beginPath();
    // A line of no length is not drawn; one from a hair beside the first point makes a dot.
    context.moveTo(stroke[0][0] * side - 0.01, stroke[0][1] * side);
    for (const [x, y] of stroke) context.lineTo(x * side, y * side);
    context.stroke();
  }
}

function drawPicture(context, bitmap, side) {
  const scale = side / Math.max(bitmap.width, bitmap.height);
  const [width, height] = [bitmap.width * scale, bitmap.height * scale];
  context.drawImage(bitmap, (side - width) / 2, (side - height) / 2, width, height);
}

function drawPen(context, {at: [x, y], down}, side, color) {
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = side / 140;
  context.beginPath();
  context.arc(x * side, y * side, (STROKE * side) / 2, 0, 2 * Math.PI);
  if (down) context.fill();
  context.stroke();
}

// Zoomable picture with one marked pixel.

const LARGEST_ZOOM = 64;
const ZOOM_STEP = 1.25;
const STRIDE = 10;
/** Minimum screen pixels per picture pixel to outline the marked pixel. */
const OUTLINE_FROM_ZOOM = 4;

/** Position and scale of the picture. */
export interface View {
  scale: number | null;
  left: number;
  top: number;
}

export class Zoom {
  private picture: ImageBitmap | null = null;
  private size = [0, 0];
  /** Screen pixels per picture pixel; null to fit the picture. */
  private scale: number | null = null;
  private left = 0;
  private top = 0;
  private over: HTMLCanvasElement | null = null;
  private layer: HTMLElement | null = null;
  private drag: { x: number; y: number } | null = null;
  /** The marked pixel of the picture. */
  pixel: { x: number; y: number } | null = null;

  private resized = new ResizeObserver(() => this.place());

  /**
   * `canvas` and `mark` are in `el`; `marked` is called when the pixel changes, `zoomed` when the
   * scale does.
   */
  constructor(
    readonly el: HTMLElement,
    private canvas: HTMLCanvasElement,
    private mark: HTMLElement,
    private marked: (byKey: boolean) => void,
    private zoomed: (scale: number) => void,
  ) {
    this.el.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.el.addEventListener("pointerdown", (event) => this.grab(event));
    this.el.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) {
      this.el.addEventListener(end, () => (this.drag = null));
    }
    this.el.addEventListener("keydown", (event) => this.key(event));
    this.resized.observe(this.el);
  }

  end(): void {
    this.resized.disconnect();
    this.picture?.close();
  }

  /** Show another picture, at the same position if its size is the same. */
  show(picture: ImageBitmap | null): void {
    const size = picture ? [picture.width, picture.height] : [0, 0];
    const other = size.join() !== this.size.join();
    this.picture?.close();
    this.picture = picture;
    this.size = size;
    if (!picture) return;
    this.canvas.width = picture.width;
    this.canvas.height = picture.height;
    this.canvas.getContext("2d")?.drawImage(picture, 0, 0);
    if (other) this.fit();
    else this.place();
  }

  /** Overlay another picture at the same position; returns a function that removes it. */
  overlay(canvas: HTMLCanvasElement): () => void {
    this.over = canvas;
    this.place();
    return () => {
      if (this.over === canvas) this.over = null;
    };
  }

  /** Overlay an element of the same size as the picture. */
  cover(layer: HTMLElement | null): void {
    this.layer = layer;
    this.place();
  }

  view(): View {
    const { scale, left, top } = this;
    return { scale, left, top };
  }

  restore(view: View): void {
    Object.assign(this, view);
    this.place();
  }

  fit(): void {
    this.scale = null;
    this.place();
  }

  zoom(by: number, at?: { x: number; y: number }): void {
    const old = this.now();
    const box = this.el.getBoundingClientRect();
    const to = Math.min(LARGEST_ZOOM, Math.max(0.05, old * by));
    const x = (at?.x ?? box.left + box.width / 2) - box.left;
    const y = (at?.y ?? box.top + box.height / 2) - box.top;
    this.left = x - ((x - this.left) / old) * to;
    this.top = y - ((y - this.top) / old) * to;
    this.scale = to;
    this.place();
  }

  actual(): void {
    this.zoom(1 / this.now());
  }

  private now(): number {
    if (this.scale !== null) return this.scale;
    const [wide = 1, tall = 1] = this.size;
    const { clientWidth, clientHeight } = this.el;
    return Math.min(LARGEST_ZOOM, Math.max(0.02, Math.min(clientWidth / wide, clientHeight / tall)));
  }

  private place(): void {
    const [wide = 0, tall = 0] = this.size;
    if (!wide || !this.el.clientWidth) return;
    const scale = this.now();
    const keep = (at: number, room: number, length: number): number =>
      length <= room ? (room - length) / 2 : Math.min(0, Math.max(room - length, at));
    this.left = keep(this.left, this.el.clientWidth, wide * scale);
    this.top = keep(this.top, this.el.clientHeight, tall * scale);
    for (const canvas of [this.canvas, this.over, this.layer]) {
      Object.assign(canvas?.style ?? {}, {
        width: `${wide * scale}px`,
        height: `${tall * scale}px`,
        transform: `translate(${this.left}px, ${this.top}px)`,
        imageRendering: scale >= 2 ? "pixelated" : "auto",
      });
    }
    const seen = Math.max(0, this.left);
    const width = Math.min(this.el.clientWidth, this.left + wide * scale) - seen;
    this.el.style.setProperty("--seen-left", `${seen}px`);
    this.el.style.setProperty("--seen-width", `${width}px`);
    this.el.dataset["scale"] = scale.toFixed(3);
    this.frame();
    this.zoomed(scale);
  }

  private frame(): void {
    const scale = this.now();
    const [wide = 0, tall = 0] = this.size;
    // The pixel may have been marked in a larger picture.
    const inside = this.pixel && this.pixel.x < wide && this.pixel.y < tall;
    this.mark.hidden = !inside;
    if (!this.pixel) return;
    const side = Math.max(scale, OUTLINE_FROM_ZOOM);
    const off = (side - scale) / 2;
    Object.assign(this.mark.style, {
      width: `${side}px`,
      height: `${side}px`,
      transform: `translate(${this.left + this.pixel.x * scale - off}px, ${
        this.top + this.pixel.y * scale - off
      }px)`,
    });
  }

  private choose(x: number, y: number, byKey: boolean): void {
    const [wide = 0, tall = 0] = this.size;
    if (!wide) return;
    const inside = x >= 0 && y >= 0 && x < wide && y < tall;
    if (!inside && !byKey) return;
    const to = {
      x: Math.min(wide - 1, Math.max(0, Math.floor(x))),
      y: Math.min(tall - 1, Math.max(0, Math.floor(y))),
    };
    if (to.x === this.pixel?.x && to.y === this.pixel.y) return;
    this.pixel = to;
    this.frame();
    this.marked(byKey);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.zoom(ZOOM_STEP ** (-Math.sign(event.deltaY) || 0), { x: event.clientX, y: event.clientY });
  }

  private grab(event: PointerEvent): void {
    this.el.setPointerCapture(event.pointerId);
    this.drag = { x: event.clientX - this.left, y: event.clientY - this.top };
  }

  private move(event: PointerEvent): void {
    if (this.drag) {
      this.scale = this.now();
      this.left = event.clientX - this.drag.x;
      this.top = event.clientY - this.drag.y;
      this.place();
      return;
    }
    const box = this.el.getBoundingClientRect();
    const scale = this.now();
    const x = (event.clientX - box.left - this.el.clientLeft - this.left) / scale;
    const y = (event.clientY - box.top - this.el.clientTop - this.top) / scale;
    this.choose(x, y, false);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[
      event.key
    ];
    if (by) {
      const [wide = 0, tall = 0] = this.size;
      const from = this.pixel ?? { x: wide / 2, y: tall / 2 };
      const stride = this.pixel === null ? 0 : event.shiftKey ? STRIDE : 1;
      this.choose(from.x + (by[0] ?? 0) * stride, from.y + (by[1] ?? 0) * stride, true);
    } else if (event.key === "+" || event.key === "=") this.zoom(ZOOM_STEP);
    else if (event.key === "-") this.zoom(1 / ZOOM_STEP);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

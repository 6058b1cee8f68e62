// How wide a text is drawn.

const known = new Map<string, number>();
let context: CanvasRenderingContext2D | null = null;

/** In pixels; `font` as in CSS. */
export function textWidth(text: string, font: string): number {
  const key = `${font} ${text}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * 8;
  context.font = font;
  const { width } = context.measureText(text);
  known.set(key, width);
  return width;
}

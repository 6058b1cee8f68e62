// Import of graphs: chosen, dropped or pasted, as text or in a shared picture.

import { base64 } from "../lib/urlCompression";
import { isTyping } from "../lib/keyboard";
import { isPage } from "../lib/fullPage";

export interface DroppedGraph {
  /** `file` is the file's name; empty for pasted text. */
  text(content: string, file: string): void;
  /** `head` is a shared picture without its pixels, as base64. */
  picture(head: string): void;
  refuse(reason: string): void;
}

const LARGEST_FILE = 16_000_000;
const HEAD_BYTES = 5_000_000;
const ACCEPTED_TYPES = ["Files", "text/plain"];
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

export async function readFile(file: File, into: DroppedGraph): Promise<void> {
  const start = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  if (PNG.every((byte, at) => start[at] === byte)) into.picture(base64(bytesBeforePixels(start)));
  else if (file.type.startsWith("image/")) {
    into.refuse(`${file.name} is not a PNG. Only shared pictures in PNG format contain a graph.`);
  } else if (file.size > LARGEST_FILE) into.refuse(`${file.name} is too large for a graph file.`);
  else into.text(await file.text(), file.name);
}

/** Return a PNG up to its first IDAT chunk: a few kilobytes, including the graph. */
function bytesBeforePixels(png: Uint8Array): Uint8Array {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  let at = PNG.length;
  while (at + 8 <= png.length) {
    if (String.fromCharCode(...png.subarray(at + 4, at + 8)) === "IDAT") return png.subarray(0, at + 8);
    at += 12 + view.getUint32(at);
  }
  return png;
}

/**
 * Accept files and text dropped on the page, or in JupyterLab on the cell output that contains
 * `root`. `data-drop` is set on `root` during a drag.
 */
export function acceptDroppedFiles(root: HTMLElement, into: DroppedGraph): () => void {
  const meant = (event: Event): boolean => {
    const output = isPage(root) ? document : (root.closest(".widget-vbox") ?? root);
    const path = event.composedPath();
    return !event.defaultPrevented && path.includes(output) && !isTyping(path[0] ?? null);
  };
  let leaving = 0;
  const over = (event: Event): void => {
    const { dataTransfer } = event as DragEvent;
    if (!meant(event) || !dataTransfer?.types.some((type) => ACCEPTED_TYPES.includes(type))) return;
    event.preventDefault();
    dataTransfer.dropEffect = "copy";
    root.dataset["drop"] = "";
    clearTimeout(leaving); // dragover is sent every 50 ms (HTML) to 350 ms while over the area
    leaving = window.setTimeout(() => delete root.dataset["drop"], 500);
  };
  const drop = (event: Event): void => {
    const { dataTransfer } = event as DragEvent;
    delete root.dataset["drop"];
    const file = dataTransfer?.files[0];
    const content = dataTransfer?.getData("text/plain");
    if (!meant(event) || !(file || content)) return;
    event.preventDefault();
    if (file) void readFile(file, into);
    else if (content) into.text(content, "");
  };
  document.addEventListener("dragover", over);
  document.addEventListener("drop", drop);
  return () => {
    clearTimeout(leaving);
    document.removeEventListener("dragover", over);
    document.removeEventListener("drop", drop);
  };
}

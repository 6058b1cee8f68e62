// The graph to take along: a picture that carries it, and in the web app an address.

import type { Bytes } from "../views";
import { pack } from "../lib/urlCompression";
import { attr, h, show, text } from "../lib/dom";
import { copyText, download } from "../lib/files";
import { icon } from "../lib/icons";
import { popover } from "../lib/popover";

interface Share {
  /** Asks for the picture. */
  ask: () => void;
  /** The graph's file text. */
  graph: () => string;
  stem: () => string;
  /** Whether the page's address may carry the graph. */
  linked: () => boolean;
}

export const FRAGMENT = "#graph=";
const LONG = 32_000;

export function shareButton({ ask, graph, stem, linked }: Share): {
  parts: HTMLElement[];
  draw(picture: Bytes): void;
} {
  let blob: Blob | null = null;
  const image = h("img", { alt: "The contact sheet to share", "data-wb": "share-picture" });
  const note = h("p", { class: "wb-bar-drawing", role: "status", "data-wb": "share-note" });
  const png = h(
    "button",
    {
      class: "wb-btn",
      type: "button",
      "data-wb": "share-png",
      onclick: () => blob && download(`${stem()}.png`, blob, "image/png"),
    },
    icon("download", 14),
    "Download PNG",
  );
  const link = h(
    "button",
    { class: "wb-quiet", type: "button", autofocus: true, "data-wb": "share-link" },
    icon("link", 14),
    "Copy link",
  );
  link.addEventListener("click", () => void copyLink());
  const button = h("button", { class: "wb-link", type: "button", "data-wb": "share" }, "Share");
  const opening = (): void => {
    show(link, linked());
    say(blob ? HINT : "Drawing the picture");
    if (!blob) ask();
  };
  const pop = popover(
    button,
    { label: "Share the graph", align: "end", opening },
    h("div", { class: "wb-bar-share" }, image, note, h("div", { class: "wb-bar-ways" }, png, link)),
  );

  function say(words: string): void {
    text(note, words);
    attr(note, "data-busy", words.startsWith("Drawing") ? "" : null);
  }

  async function copyLink(): Promise<void> {
    const packed = await pack(JSON.stringify(JSON.parse(graph())));
    const address = `${location.href.split("#")[0]}${FRAGMENT}${packed}`;
    const copied = await copyText(address);
    const long = address.length > LONG ? " It is long: some programs cut it; the PNG is safer." : "";
    say(copied ? `Link copied: it holds the whole graph.${long}` : "The link could not be copied.");
  }

  return {
    parts: [button, pop],
    draw(picture) {
      if (image.src) URL.revokeObjectURL(image.src);
      blob = picture.byteLength ? new Blob([picture as BlobPart], { type: "image/png" }) : null;
      show(image, !!blob);
      if (blob) image.src = URL.createObjectURL(blob);
      else image.removeAttribute("src");
      png.disabled = !blob;
      if (blob && note.dataset["busy"] !== undefined) say(HINT);
    },
  };
}

const HINT = "It carries the graph: dropped on a workbench, it opens again.";

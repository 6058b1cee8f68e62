// Says in red that Python is not there.

import type { Components } from "../views";
import { attr, h, show, text } from "./dom";
import { icon } from "./icons";
import type { Link } from "./link";

/** Marks `root` while Python is lost; one component of a workbench says it in words. */
export function offline<N extends keyof Components>(root: HTMLElement, link: Link<N>): () => void {
  const words = h("span");
  const line = h(
    "p",
    { class: "wb-offline", role: "alert", hidden: true, "data-wb": "offline" },
    icon("warn", 14),
    words,
  );
  root.append(line);
  const draw = (): void => {
    const { loss } = link.connection;
    attr(root, "data-offline", loss?.kind);
    show(line, loss !== null && link.connection.speaks(link.host));
    text(words, loss?.text ?? "");
  };
  draw();
  return link.connection.watch(draw);
}

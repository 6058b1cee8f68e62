// Introduction, shown with the example graph and with an empty graph.

import { useMemo, useRef, useState } from "preact/hooks";
import { readFile, type DroppedGraph } from "../bar/importGraph";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";

export function Start({ link }: { link: Link<"inspector"> }) {
  const { name = "", line = "", picture = "", example = false } = useField(link, "start", {});
  const input = useRef<HTMLInputElement>(null);
  const [refused, refuse] = useState("");
  const incoming = useMemo<DroppedGraph>(
    () => ({
      text: (content, file) => link.ask("open", { text: content, file }),
      picture: (data) => link.ask("open_picture", { data }),
      refuse,
    }),
    [link],
  );
  const open = (): void => {
    const file = input.current!.files?.[0];
    if (file) void readFile(file, incoming).finally(() => (input.current!.value = ""));
  };
  return (
    <section class="wb-start" data-wb="start" aria-label="Start">
      <h3>Build DALI image augmentations, see them on your photos, measure them, and export code</h3>
      <p>
        {example
          ? "This is an example. Click a node to change it, or start with:"
          : "The graph is empty. Add a reader on the canvas, or start with:"}
      </p>
      <button type="button" data-wb="start-recipe" onClick={() => link.ask("recipe", { name })}>
        <img src={picture} alt="" width={384} height={96} />
        <b>Recipe: {name}</b>
        <small>{line} More are under Recipes.</small>
      </button>
      {example && (
        <button type="button" data-wb="start-empty" onClick={() => link.ask("new", {})}>
          <Icon name="plus" size={18} />
          <b>An empty graph</b>
          <small>Add operators one by one.</small>
        </button>
      )}
      <button type="button" data-wb="start-file" onClick={() => input.current!.click()}>
        <Icon name="file" size={18} />
        <b>A file, or drop one here</b>
        <small>A graph (JSON), an exported program, or a shared picture (PNG).</small>
      </button>
      <p class="wb-arg-error" role="alert" hidden={!refused}>
        {refused}
      </p>
      <input
        ref={input}
        type="file"
        accept=".json,.png,.py,.ipynb,application/json,image/png"
        hidden
        aria-label="Graph file or shared picture to start with"
        data-wb="start-input"
        onChange={open}
      />
    </section>
  );
}

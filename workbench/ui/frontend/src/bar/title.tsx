// Name of the graph; a click opens a field to edit it.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  name: string;
  rename: (name: string) => void;
}

export function Title({ name, rename }: Props) {
  const [editing, edit] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const given = name || "untitled";
  useLayoutEffect(() => {
    if (!editing) return;
    input.current!.value = name;
    input.current!.focus();
    input.current!.select();
  }, [editing]);
  const commit = (): void => {
    if (!editing) return;
    const wanted = input.current!.value.trim();
    edit(false);
    if (wanted && wanted !== name) rename(wanted);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") input.current!.value = name;
    // Focusing the visible button blurs the field, which commits its value.
    button.current!.hidden = false;
    button.current!.focus();
  };
  return (
    <div class="wb-bar-title">
      <button
        ref={button}
        type="button"
        data-wb="title"
        data-tip={`${given}\n\nRename`}
        aria-label={`${given}, rename`}
        hidden={editing}
        onClick={() => edit(true)}
      >
        {given}
      </button>
      <input
        ref={input}
        class="wb-val"
        type="text"
        spellcheck={false}
        maxLength={200}
        aria-label="Name of the graph"
        data-wb="title-field"
        hidden={!editing}
        onBlur={commit}
        onKeyDown={key}
      />
    </div>
  );
}

// Dialog to save the graph.

import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { WordButton } from "../lib/button";
import { OverwriteQuestion } from "../lib/overwriteQuestion";
import { Popover } from "../lib/popover";
import type { OverwriteQuestion as Question } from "../payloads";

interface Props {
  label: string;
  /** Label of the path field. */
  field: string;
  /** Folder for plain file names. */
  folder: () => string;
  path: () => string;
  /** Number of the open graph: a typed name is cleared when another graph is opened. */
  graph: number;
  save: (path: string, overwrite: boolean) => void;
  /** Download the content under a name. */
  download: (name: string) => void;
  /** Overwrite question; it opens the dialog. */
  question: Partial<Question> | null;
  closeQuestion: () => void;
  handle: RefObject<HTMLDivElement | null>;
  /** Additional controls below. */
  children?: ComponentChildren;
}

/** Button that opens a path field, with the default name filled in. */
export function PathButton(props: Props) {
  const { label, field, question, handle } = props;
  const name = label.toLowerCase();
  const input = useRef<HTMLInputElement>(null);
  const offered = useRef({ graph: 0, path: "" });
  const [folder, setFolder] = useState("");
  useLayoutEffect(() => {
    if (question) handle.current!.showPopover();
  }, [question?.number]);
  const close = (): void => handle.current!.hidePopover();
  const save = (event: Event): void => {
    event.preventDefault();
    const path = input.current!.value.trim();
    if (!path) return input.current!.focus();
    close();
    props.save(path, false);
  };
  return (
    <Popover
      handle={handle}
      label={field}
      align="end"
      button={{ class: "wb-link", "data-wb": name, children: label }}
      opening={() => {
        const { graph, path } = offered.current;
        const { value } = input.current!;
        offered.current = { graph: props.graph, path: props.path() };
        if (!value || value === path || graph !== props.graph) {
          input.current!.value = offered.current.path;
        }
        setFolder(props.folder());
      }}
      opened={() => {
        const { value } = input.current!;
        input.current!.setSelectionRange(0, value.lastIndexOf("."));
      }}
      closed={props.closeQuestion}
    >
      <div class="wb-ask-head">{field}</div>
      <form class="wb-ask" onSubmit={save}>
        <input
          ref={input}
          class="wb-val"
          type="text"
          spellcheck={false}
          autofocus
          aria-label={field}
          data-wb={`${name}-path`}
        />
        <button class="wb-btn" type="submit" data-wb={`${name}-now`}>
          {label}
        </button>
        <WordButton
          label="Download"
          name={`${name}-download`}
          onClick={() => {
            close();
            props.download(input.current!.value.trim() || props.path());
          }}
        />
      </form>
      <div class="wb-ask-head" data-wb={`${name}-folder`}>
        {folder && `In ${folder}`}
      </div>
      <OverwriteQuestion
        question={question}
        overwrite={(path) => {
          close();
          props.save(path, true);
        }}
      />
      {props.children}
    </Popover>
  );
}

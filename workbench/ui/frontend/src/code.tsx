// Code panel: the graph as code for a target, live, with the lines of the selected node
// highlighted.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Listing } from "./code/listing";
import { readable } from "./code/readableText";
import { Targets } from "./code/targets";
import { DatasetVersion } from "./code/version";
import { WordButton } from "./lib/button";
import { component, type PanelProps } from "./lib/component";
import { copyText, download } from "./lib/files";
import { useChange, useField, useInView } from "./lib/hooks";
import { Icon } from "./lib/icons";
import { OverwriteQuestion, useQuestion } from "./lib/overwriteQuestion";
import { Segmented } from "./lib/segmented";
import css from "./styles/code.css";
import type { CodeFile } from "./payloads";

const NO_QUESTION = { number: 0, do: "", path: "", message: "" };
const NO_SCRIPT = { number: 0, text: "" };
const NOTHING: CodeFile = { path: "", text: "" };
const NO_LINES: number[] = [];
/** Name of the list of good files (DALI's `file_list`). */
const GOOD_FILES = "good.txt";

function Code({ link, root }: PanelProps<"code">) {
  const files = useField(link, "files", []);
  const target = useField(link, "target", "script");
  const highlighted = useField(link, "highlighted", {});
  const folder = useField(link, "save_folder", "");
  const notes = useField(link, "notes", []);
  const note = useField(link, "note", "");
  const listsFiles = useField(link, "lists_files", false);
  const skipBad = useField(link, "skip_bad", false);
  const message = useField(link, "message", "");
  const [question, close] = useQuestion(useField(link, "overwrite", NO_QUESTION));
  const [chosen, choose] = useState("");
  const [said, say] = useState(message);
  const path = useRef<HTMLInputElement>(null);
  useChange(() => say(message), [message]);
  useInView(root, link);

  const file = files.find((each) => each.path === chosen) ?? files[0] ?? NOTHING;
  const source = useMemo(() => readable(file.path, file.text), [file.path, file.text]);
  const several = files.length > 1;
  const whole = several ? "All files, as a ZIP archive" : undefined;
  const downloaded = skipBad ? "The code needs its list of good files. Use Save instead." : whole;
  /** Default name: the single file, or a folder named after the target. */
  const usual = several ? target : (files[0]?.path ?? "");
  const graph = useField(link, "graph_number", 0);
  const suggested = useRef("");
  useChange(() => {
    path.current!.value = usual;
  }, [graph]);
  useLayoutEffect(() => {
    if (!usual) return;
    // A typed name stays until another target has another default; a focused field is not filled
    // in.
    const field = path.current!;
    const focused = (field.getRootNode() as Document | ShadowRoot).activeElement === field;
    if (!focused && (suggested.current || !field.value)) field.value = usual;
    suggested.current = usual;
  }, [usual]);

  const save = (event: Event): void => {
    event.preventDefault();
    close();
    const name = path.current!.value.trim();
    if (name) link.ask("save", { path: name, overwrite: false });
    else path.current!.focus();
  };
  const copy = async (): Promise<void> => {
    const done = await copyText(file.text);
    say(done ? `Copied ${file.path}.` : "The browser denied access to the clipboard.");
  };
  const script = useField(link, "script", NO_SCRIPT);
  const kept = useRef("");
  useChange(() => {
    if (script.text && kept.current) {
      download(kept.current, script.text, "text/plain");
      say(`Downloaded ${kept.current}.`);
    }
    kept.current = "";
  }, [script.number]);
  const fetch = (): void => {
    const name = path.current!.value.trim() || usual;
    if (!several) {
      kept.current = name;
      link.ask("download", { file: name });
      return;
    }
    const content = link.get("download", new ArrayBuffer(0)) as BlobPart;
    download(`${name}.zip`, content, "application/zip");
    say(`Downloaded ${name}.zip.`);
  };
  const overwrite = (name: string): void => {
    const does = question?.do === "save_file_list" ? "save_file_list" : "save";
    close();
    link.ask(does, { path: name, overwrite: true });
  };
  const listFiles = (): void => {
    close();
    link.ask("save_file_list", { path: GOOD_FILES, overwrite: false });
  };
  return (
    <>
      <div class="wb-controls-row">
        <div class="wb-controls">
          <Targets link={link} />
          <label class="wb-check">
            <input
              type="checkbox"
              class="wb-hidden"
              data-wb="skip-bad"
              checked={skipBad}
              onChange={(event) => link.set("skip_bad", event.currentTarget.checked)}
            />
            <i>
              <Icon name="check" size={11} />
            </i>
            <span data-tip="The code reads a list of good files, which is saved next to it">
              Skip bad files
            </span>
          </label>
          <span class="wb-grow" />
          <span class="wb-code-message" role="status" aria-live="polite" data-wb="message">
            {said}
          </span>
          <span class="wb-code-acts">
            <WordButton label="Copy" name="copy" icon="copy" disabled={!file.path} onClick={copy} />
            <WordButton
              label="Download"
              name="download"
              icon="download"
              disabled={!file.path || skipBad}
              data-tip={downloaded}
              onClick={fetch}
            />
            <form class="wb-code-save" onSubmit={save}>
              <input
                ref={path}
                class="wb-val"
                type="text"
                spellcheck={false}
                onBlur={() => (path.current!.value ||= usual)}
                aria-label="File name on the computer that runs the workbench"
                data-wb="path"
              />
              <button class="wb-quiet" type="submit" data-wb="save" disabled={!file.path}>
                Save as
              </button>
              <span class="wb-save-place" data-wb="save-folder" data-tip={folder || undefined}>
                {folder && `in ${folder}`}
              </span>
            </form>
          </span>
        </div>
        <OverwriteQuestion question={question} overwrite={overwrite} />
      </div>
      <DatasetVersion link={link} />
      <Fault link={link} />
      <p class="wb-stale" role="note" data-wb="notes" hidden={!notes.length}>
        <Icon name="warn" size={14} />
        <span>Differences from the graph: {notes.join(" ")}</span>
      </p>
      <p class="wb-stale" role="note" data-wb="bad-files" hidden={!note}>
        <Icon name="warn" size={14} />
        <span>{note}</span>
        {listsFiles && (
          <WordButton
            label="Save the list"
            name="save-file-list"
            icon="file"
            data-tip={`${GOOD_FILES} in ${folder}`}
            onClick={listFiles}
          />
        )}
      </p>
      <div class="wb-code-files" hidden={!several}>
        <Segmented
          label="Files"
          choices={files.map(({ path: id }) => ({ id, label: id.split("/").pop() ?? id }))}
          chosen={file.path}
          choose={choose}
        />
      </div>
      <Listing
        path={file.path}
        source={source}
        highlighted={highlighted[file.path] ?? NO_LINES}
        fromTop={useField(link, "from_top", 1)}
      />
    </>
  );
}

/** Reason why there is no code for the current graph. */
function Fault({ link }: Pick<PanelProps<"code">, "link">) {
  const { message = "", node = "" } = useField(link, "fault", {});
  return (
    <p class="wb-stale" role="status" data-wb="stale" hidden={!message}>
      {message && (
        <>
          <Icon name="warn" size={14} />
          <span>
            No code: {message}
          </span>
          {node && (
            <button
              class="wb-link"
              type="button"
              data-wb="select"
              onClick={() => link.ask("select", { node })}
            >
              Show {node}
            </button>
          )}
        </>
      )}
    </p>
  );
}

export default component("code", css, Code, "wb-panel");

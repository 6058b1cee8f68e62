// Results panel: the list of results, and the selected result.

import { useLayoutEffect } from "preact/hooks";
import { IconButton } from "./lib/button";
import { component, type PanelProps } from "./lib/component";
import { useField, useRootData } from "./lib/hooks";
import { Icon } from "./lib/icons";
import { Notice } from "./lib/notice";
import { thousands } from "./lib/number";
import { acceptDroppedFiles, OpenButton } from "./lib/openFile";
import type { ResultEntry, ShownResult, ShownTable } from "./payloads";
import css from "./styles/results.css";

function Results({ link, root }: PanelProps<"results">) {
  const entries = useField(link, "entries", []);
  const shown = useField(link, "shown", {});
  useRootData(root, "count", String(entries.length));
  useLayoutEffect(() => acceptDroppedFiles(root, (file) => link.ask("open", file)), [root, link]);
  return (
    <>
      <div class="wb-controls-row">
        <div class="wb-controls">
          <span class="wb-muted">
            {entries.length
              ? "Results of tools, newest first."
              : "No results yet. In a notebook, wb.watch, wb.audit, wb.diff and wb.pack show their results here."}
          </span>
          <span class="wb-grow" />
          <OpenButton
            what="result"
            tip="A result is the file that `result.save(path)` writes."
            open={(file) => link.ask("open", file)}
          />
        </div>
        <Notice name="error" kind="error" role="alert" words={useField(link, "message", "")} />
      </div>
      <div class="wb-results-body" hidden={!entries.length}>
        <ul class="wb-results-list" aria-label="Results" data-wb="entries">
          {entries.map((entry) => (
            <Entry
              key={entry.id}
              entry={entry}
              shown={entry.id === shown.id}
              show={() => link.ask("show", { result: entry.id })}
              remove={() => link.ask("remove", { result: entry.id })}
            />
          ))}
        </ul>
        {shown.id && <Shown {...(shown as ShownResult)} />}
      </div>
    </>
  );
}

interface EntryProps {
  entry: ResultEntry;
  shown: boolean;
  show: () => void;
  remove: () => void;
}

function Entry({ entry: { title, verdict, created }, shown, show, remove }: EntryProps) {
  return (
    <li data-wb="entry">
      <button class="wb-results-entry" type="button" aria-pressed={shown} onClick={show}>
        <b>{title}</b>
        <small>{timeText(created)}</small>
        <span>{verdict}</span>
      </button>
      <IconButton label={`Remove ${title}`} name="remove" onClick={remove}>
        <Icon name="close" size={13} />
      </IconButton>
    </li>
  );
}

/** Format a time as local date and time; other text is unchanged. */
function timeText(created: string): string {
  const time = new Date(created);
  if (Number.isNaN(time.getTime())) return created;
  return time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

function Shown({ title, created, sentences, tables, pictures }: ShownResult) {
  return (
    <article class="wb-results-shown" aria-label={title} data-wb="shown" tabIndex={0}>
      <h3>{title}</h3>
      <small>{timeText(created)}</small>
      {sentences.map((sentence, at) => (
        <p key={at}>{sentence}</p>
      ))}
      {tables.map((table, at) => (
        <Table key={at} {...table} />
      ))}
      {pictures.map(({ caption, source }, at) => (
        <figure key={at}>
          {source ? <img src={source} alt={caption} /> : <p>This picture is not a PNG, JPEG or WebP file.</p>}
          <figcaption>{caption}</figcaption>
        </figure>
      ))}
    </article>
  );
}

function Table({ title, columns, numbers, rows, more }: ShownTable) {
  return (
    <div class="wb-results-table">
      <table>
        {title && <caption>{title}</caption>}
        <thead>
          <tr>
            {columns.map((name, at) => (
              <th key={at} scope="col" data-number={numbers[at] || undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place}>
              {row.map((cell, at) => (
                <td key={at} data-number={numbers[at] || undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="wb-muted">and {thousands(more)} more rows; to_frame() returns all</p>}
    </div>
  );
}

export default component("results", css, Results, "wb-panel");

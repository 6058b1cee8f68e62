// Report of what the import changed or skipped, opened from a chip.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { ImportEntry } from "../payloads";
import { WordButton } from "../lib/button";
import { Icon } from "../lib/icons";
import { Menu, Popover } from "../lib/popover";

interface Props {
  entry: Partial<ImportEntry>;
  select: (node: string) => void;
  dismiss: () => void;
}

export function ImportReport({ entry, select, dismiss }: Props) {
  const { summary = "", rows = [], notes = [] } = entry;
  const pop = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!summary) pop.current!.hidePopover(); // undo and redo also work while the report is open
  }, [summary]);
  const button = {
    class: "wb-chip wb-bar-import",
    "data-wb": "import-report",
    "data-tip": `Imported: ${summary}. Show the report`,
    "aria-label": `Imported: ${summary}, show the report`,
    hidden: !summary,
    children: [
      <Icon key="icon" name={rows.length ? "warn" : "check"} size={13} />,
      <span key="words">
        Imported<span class="wb-bar-count">: {summary}</span>
      </span>,
    ],
  };
  return (
    <Popover handle={pop} label="Import report" button={button}>
      <div class="wb-bar-report">
        <p class="wb-muted">
          Imported: {summary}. Later edits do not change this report.
        </p>
        <Menu>
          {rows.map(({ kind, subject, place, why, node }, at) => {
            const Row = node ? "button" : "div";
            return (
              <Row
                key={at}
                type={node ? "button" : undefined}
                data-wb="import-row"
                data-node={node}
                onClick={() => {
                  if (!node) return;
                  pop.current!.hidePopover();
                  select(node);
                }}
              >
                <small>{[kind, place].filter(Boolean).join(" · ")}</small>
                <span>
                  {subject && <b>{subject}: </b>}
                  {why}
                </span>
              </Row>
            );
          })}
        </Menu>
        {notes.length > 0 && (
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
        <WordButton
          label="Dismiss the report"
          name="dismiss-report"
          data-tip="Undo restores it"
          onClick={dismiss}
        />
      </div>
    </Popover>
  );
}

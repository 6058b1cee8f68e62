// List of edits that can be undone or redone.

import { useRef } from "preact/hooks";
import type { HistoryEntry } from "../payloads";
import { Icon } from "../lib/icons";
import { Menu, Popover } from "../lib/popover";

interface Props {
  /** Oldest first. */
  steps: HistoryEntry[];
  disabled: boolean;
  /** Reports whether the list is open. */
  look: (on: boolean) => void;
  goTo: (step: number) => void;
}

export function History({ steps, disabled, look, goTo }: Props) {
  const pop = useRef<HTMLDivElement>(null);
  const start = steps[0] ? steps[0].step - 1 : 0;
  const rows = [{ step: start, label: start ? "earlier" : "start", done: true }, ...steps];
  const now = rows.reduce((last, { step, done }) => (done ? step : last), start);
  const button = {
    class: "wb-ico wb-bar-history wb-reveal",
    "data-wb": "history",
    "data-tip": "History of edits",
    "aria-label": "History of edits",
    disabled,
    children: <Icon name="down" size={14} />,
  };
  return (
    <Popover
      handle={pop}
      label="History of edits"
      button={button}
      opening={() => look(true)}
      closed={() => look(false)}
    >
      <Menu class="wb-bar-steps">
        {rows.reverse().map(({ step, label, done }) => (
          <button
            key={step}
            type="button"
            autofocus={step === now}
            data-wb="history-step"
            data-step={step}
            data-undone={done ? undefined : "true"}
            aria-current={step === now ? "step" : undefined}
            onClick={() => goTo(step)}
          >
            {label}
            {!done && <small> undone</small>}
          </button>
        ))}
      </Menu>
    </Popover>
  );
}

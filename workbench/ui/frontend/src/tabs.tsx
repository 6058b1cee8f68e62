// Tabs of the lower panels.

import type { TargetedKeyboardEvent } from "preact";
import { component, type PanelProps } from "./lib/component";
import { useField } from "./lib/hooks";
import css from "./styles/tabs.css";
import { TABS } from "./payloads";

function Tabs({ link }: PanelProps<"tabs">) {
  const open = useField(link, "tab", "preview");
  const work = useField(link, "work", []);
  const move = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const at = TABS.indexOf(open);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = TABS.at(to % TABS.length) ?? "preview";
    link.set("tab", next);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab=${next}]`)?.focus();
  };
  return (
    <div class="wb-tabs-list" role="tablist" aria-label="Panels" onKeyDown={move}>
      {TABS.map((name) => {
        const label = name.charAt(0).toUpperCase() + name.slice(1);
        const running = work.find(({ tab }) => tab === name);
        const percent = `${Math.round(100 * (running?.share ?? 0))} %`;
        return (
          <button
            key={name}
            type="button"
            role="tab"
            data-wb="tab"
            data-tab={name}
            data-running={running ? "true" : undefined}
            data-tip={running && `Running: ${running.text}, ${percent}`}
            aria-label={running ? `${label}, running: ${running.text}` : undefined}
            aria-selected={name === open}
            tabIndex={name === open ? 0 : -1}
            onClick={() => link.set("tab", name)}
          >
            {label}
            {running && <small aria-hidden="true">{percent}</small>}
          </button>
        );
      })}
    </div>
  );
}

export default component("tabs", css, Tabs);

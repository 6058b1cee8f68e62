// Messages that overlay a panel, so that nothing moves.

import type { ComponentChildren, RefObject } from "preact";
import { Icon } from "./icons";

/** Container of a panel's notices at its lower edge. */
export function Notices({ handle, children }: { handle?: RefObject<HTMLDivElement | null>; children: ComponentChildren }) {
  return (
    <div class="wb-notices">
      <div ref={handle ?? null}>{children}</div>
    </div>
  );
}

interface Props {
  words: string;
  /** Value of the attribute `data-wb`. */
  name: string;
  kind?: "warning" | "error";
  role?: "status" | "alert";
  /** Buttons after the text. */
  children?: ComponentChildren;
}

export function Notice({ words, name, kind = "warning", role = "status", children }: Props) {
  return (
    <p class="wb-notice" role={role} data-wb={name} data-kind={kind} hidden={!words}>
      {words && (
        <>
          <Icon name="warn" size={14} />
          <span>{words}</span>
          {children}
        </>
      )}
    </p>
  );
}

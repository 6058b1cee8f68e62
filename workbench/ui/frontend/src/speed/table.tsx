// Results as a table, for exact numbers and for screen readers.

import type { ComponentChildren } from "preact";
import { FieldHead } from "../lib/fields";

interface Props {
  caption: string;
  heads: readonly string[];
  /** The first cell of each line is its header. */
  lines: readonly (readonly ComponentChildren[])[];
  /** Content after the body. */
  children?: ComponentChildren;
}

export function Table({ caption, heads, lines, children }: Props) {
  return (
    <table class="wb-speed-table">
      <caption class="wb-hidden">{caption}</caption>
      <FieldHead words={heads} />
      <tbody>
        {lines.map(([first, ...rest], row) => (
          <tr key={row}>
            <th scope="row">{first}</th>
            {rest.map((cell, at) => (
              <td key={at}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
      {children}
    </table>
  );
}

interface WideProps {
  label: string;
  hidden?: boolean;
  children: ComponentChildren;
}

/** Region that scrolls horizontally in a narrow panel, also with the keyboard. */
export function Wide({ label, hidden = false, children }: WideProps) {
  return (
    <div class="wb-speed-wide" tabIndex={0} role="region" aria-label={label} hidden={hidden}>
      {children}
    </div>
  );
}

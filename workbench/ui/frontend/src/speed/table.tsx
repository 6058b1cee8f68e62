// Figures as a table: for who wants the numbers, and for who does not see the picture.

import type { ComponentChildren } from "preact";
import { Heads } from "../lib/fields";

interface Props {
  caption: string;
  heads: readonly string[];
  /** The first cell of each line is its head. */
  lines: readonly (readonly ComponentChildren[])[];
  /** What stands after the body. */
  children?: ComponentChildren;
}

export function Table({ caption, heads, lines, children }: Props) {
  return (
    <table class="wb-speed-table">
      <caption class="wb-hidden">{caption}</caption>
      <Heads words={heads} />
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

/** A region that scrolls sideways where the panel is narrow, by key too. */
export function Wide({ label, hidden = false, children }: WideProps) {
  return (
    <div class="wb-speed-wide" tabIndex={0} role="region" aria-label={label} hidden={hidden}>
      {children}
    </div>
  );
}

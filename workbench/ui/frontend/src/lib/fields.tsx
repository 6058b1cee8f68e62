// A menu, a line of text, and the heads of a table: elements that many parts have alike.

import type { Input } from "./numberInputs";

interface Attributes extends Input {
  /** Its accessible name; without one, that of the label around it. */
  name?: string;
  class?: string;
  maxLength?: number;
  "data-set"?: string | undefined;
  "data-tip"?: string;
}

interface SelectProps extends Attributes {
  /** Each is its own words, or a pair of value and words. */
  options: readonly (string | readonly [string, string])[];
  choose: (value: string, el: HTMLSelectElement) => void;
}

export function Select({ name, options, choose, ...rest }: SelectProps) {
  return (
    <select
      class="wb-val"
      aria-label={name}
      onChange={({ currentTarget: el }) => choose(el.value, el)}
      {...rest}
    >
      {options.map((option) => {
        const [value, words] = typeof option === "string" ? [option, option] : option;
        return (
          <option key={value} value={value}>
            {words}
          </option>
        );
      })}
    </select>
  );
}

interface TextProps extends Attributes {
  /** On Enter, or when it is left. */
  take: (words: string, el: HTMLInputElement) => void;
}

export function TextField({ name, take, ...rest }: TextProps) {
  return (
    <input
      class="wb-val"
      type="text"
      spellcheck={false}
      autocomplete="off"
      aria-label={name}
      onChange={({ currentTarget: el }) => take(el.value, el)}
      {...rest}
    />
  );
}

export function Heads({ words }: { words: readonly string[] }) {
  return (
    <thead>
      <tr>
        {words.map((head, at) => (
          <th key={at} scope="col">
            {head}
          </th>
        ))}
      </tr>
    </thead>
  );
}

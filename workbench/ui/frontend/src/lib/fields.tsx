// Shared elements: a menu, a text field, and table headers.

import type { Input } from "./numberInputs";

interface Attributes extends Input {
  /** Accessible name; by default that of the surrounding label. */
  name?: string;
  class?: string;
  maxLength?: number;
  "data-set"?: string | undefined;
  "data-tip"?: string;
}

interface SelectProps extends Attributes {
  /** Text, or a pair of value and text. */
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
  /** Called on Enter or when the field loses the focus. */
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

export function FieldHead({ words }: { words: readonly string[] }) {
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

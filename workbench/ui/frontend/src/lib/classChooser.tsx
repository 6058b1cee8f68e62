// List to select classes of the data by name.

import { useState } from "preact/hooks";

const SEARCHED = 12;
const LISTED = 200;

interface Props {
  names: string[];
  shown: string[];
  choose: (shown: string[]) => void;
}

/** Checkboxes, with a search field if there are many. */
export function ClassChooser({ names, shown, choose }: Props) {
  const [typed, type] = useState("");
  const found = names.filter((name) => name.toLowerCase().includes(typed.toLowerCase()));
  return (
    <div class="wb-class-chooser">
      {names.length > SEARCHED && (
        <input
          class="wb-val"
          type="search"
          placeholder="Find a class"
          aria-label="Find a class"
          value={typed}
          onInput={(event) => type(event.currentTarget.value)}
        />
      )}
      <div role="group" aria-label="Classes">
        {found.slice(0, LISTED).map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={shown.includes(name)}
              onChange={({ currentTarget: { checked } }) =>
                choose(checked ? [...shown, name] : shown.filter((each) => each !== name))
              }
            />
            {name}
          </label>
        ))}
        {found.length > LISTED && <p class="wb-muted">and {found.length - LISTED} more</p>}
        {!found.length && <p class="wb-muted">No matching class.</p>}
      </div>
    </div>
  );
}

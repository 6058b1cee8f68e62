// Title of a block's body, such as "stronger" for `option_1`.

import { TextField } from "../lib/fields";
import type { Link } from "../lib/link";
import { DeferUpdates } from "./chance";
import type { InteractionGuard } from "./interactionGuard";

interface Props {
  link: Link<"inspector">;
  guard: InteractionGuard;
  block: string;
  name: string;
  title: string;
}

export function BodyTitle({ link, guard, block, name, title }: Props) {
  return (
    <DeferUpdates guard={guard}>
      <TextField
        class="wb-val wb-body-title"
        maxLength={60}
        placeholder="name"
        name={`Name of ${name} in ${block}`}
        data-wb="body-title"
        data-tip="Shown on the block, on tiles, and as a comment in the code"
        value={title}
        take={(value) => {
          if (value.trim() === title) return;
          link.ask("name_body", { block, body: name, title: value });
        }}
      />
    </DeferUpdates>
  );
}

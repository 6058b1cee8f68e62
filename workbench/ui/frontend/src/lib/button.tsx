// Small buttons with a glyph.

import type { ComponentProps } from "preact";
import { Icon } from "./icons";

type Props = Omit<ComponentProps<"button">, "name" | "icon"> & {
  label: string;
  /** As tests and styles know it. */
  name: string;
};

/** A glyph that says on hover what it does, and is called so. */
export function IconButton({ label, name, children, ...rest }: Props) {
  return (
    <button class="wb-ico" type="button" aria-label={label} data-tip={label} data-wb={name} {...rest}>
      {children}
    </button>
  );
}

/** Words, and a glyph before them. */
export function WordButton({ label, name, icon, ...rest }: Props & { icon?: ComponentProps<typeof Icon>["name"] }) {
  return (
    <button class="wb-quiet" type="button" data-wb={name} {...rest}>
      {icon && <Icon name={icon} size={13} />}
      {icon && " "}
      {label}
    </button>
  );
}

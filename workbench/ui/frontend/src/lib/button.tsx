// Small buttons with an icon.

import type { ComponentProps } from "preact";
import { Icon } from "./icons";

type Props = Omit<ComponentProps<"button">, "name" | "icon"> & {
  label: string;
  /** Name in tests and styles. */
  name: string;
};

/** Icon button with its label as tooltip and accessible name. */
export function IconButton({ label, name, children, ...rest }: Props) {
  return (
    <button class="wb-ico" type="button" aria-label={label} data-tip={label} data-wb={name} {...rest}>
      {children}
    </button>
  );
}

/** Text button with an optional icon. */
export function WordButton({ label, name, icon, ...rest }: Props & { icon?: ComponentProps<typeof Icon>["name"] }) {
  return (
    <button class="wb-quiet" type="button" data-wb={name} {...rest}>
      {icon && <Icon name={icon} size={13} />}
      {icon && " "}
      {label}
    </button>
  );
}

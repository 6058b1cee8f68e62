// Button with the current export target, which opens the list of targets.

import { useRef } from "preact/hooks";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { Popover } from "../lib/popover";
import { TargetMenu } from "../lib/targetMenu";

export function Targets({ link }: { link: Link<"code"> }) {
  const chosen = useField(link, "target", "script");
  const targets = useField(link, "targets", []);
  const refused = useField(link, "refusals", {});
  const menu = useRef<HTMLDivElement>(null);
  const choose = (target: string): void => {
    menu.current!.hidePopover();
    link.set("target", target);
  };
  const button = {
    class: "wb-val wb-code-target",
    "data-wb": "target",
    "aria-label": `Export to: ${chosen}`,
    children: [<b>{chosen}</b>, <Icon name="down" size={11} />],
  };
  return (
    <span class="wb-code-to">
      <Popover
        handle={menu}
        label="Export to"
        opening={() => link.ask("find_refusals", {})}
        button={button}
      >
        <TargetMenu {...{ targets, chosen, refused, choose }} />
      </Popover>
      <span class="wb-muted wb-code-about" data-wb="about">
        {targets.find(({ name }) => name === chosen)?.about}
      </span>
    </span>
  );
}

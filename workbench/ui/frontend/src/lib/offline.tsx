// Red message while Python is disconnected.

import { useLayoutEffect } from "preact/hooks";
import type { Components } from "../payloads";
import { useOffline } from "./hooks";
import { Icon } from "./icons";
import type { Link } from "./link";

interface Props<N extends keyof Components> {
  root: HTMLElement;
  link: Link<N>;
}

/** Mark `root` while Python is lost; one component of a workbench shows the message. */
export function Offline<N extends keyof Components>({ root, link }: Props<N>) {
  useOffline(link);
  const { loss } = link.connection;
  useLayoutEffect(() => {
    if (loss) root.dataset["offline"] = loss.kind;
    else delete root.dataset["offline"];
  }, [loss]);
  const silent = loss === null || !link.connection.speaks(link.host);
  return (
    <p class="wb-offline" role="alert" hidden={silent} data-wb="offline">
      <Icon name="warn" size={14} />
      <span>{loss?.text}</span>
    </p>
  );
}

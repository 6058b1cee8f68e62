// Breadcrumb: the blocks that contain the visible body.

import { Fragment } from "preact/compat";
import { openScope } from "./state/actions";
import { useCanvasStore, useCanvasState } from "./state/context";
import { Icon } from "../lib/icons";

export function Breadcrumb() {
  const store = useCanvasStore();
  const breadcrumb = useCanvasState((state) => state.breadcrumb);
  if (!breadcrumb.length) return null;
  const button = (scope: string, name: string, label: string, shown: boolean) => (
    <button
      key={scope}
      type="button"
      data-wb="scope"
      data-scope={scope}
      aria-label={label}
      aria-current={shown ? "true" : undefined}
      onClick={() => openScope(store, scope)}
    >
      {name}
    </button>
  );
  return (
    <nav className="wb-breadcrumb nopan" aria-label="Path into the block" data-wb="breadcrumb">
      {button("", "graph", "Back to the graph", false)}
      {breadcrumb.map(({ block, op, bodies }) => (
        <Fragment key={block}>
          <Icon name="right" size={11} />
          <span className="wb-breadcrumb-block">
            {op} <b>{block}</b>
          </span>
          <span className="wb-breadcrumb-bodies" role="group" aria-label={`Bodies of ${block}`}>
            {bodies.map(({ scope, name, title, shown }) =>
              button(scope, title || name, `${title || name} of ${block}`, shown),
            )}
          </span>
        </Fragment>
      ))}
    </nav>
  );
}

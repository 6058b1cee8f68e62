// The `+` button on each edge.

import { EdgeLabelRenderer } from "@xyflow/react";
import { memo } from "preact/compat";
import type { EdgeEntry } from "../../payloads";
import { useCanvasStore, useCanvasState } from "../state/context";
import { Icon } from "../../lib/icons";
import type { Route } from "../layout/edgeRouting";

/** Length of an edge in pixels below which its button is moved aside. */
const SHORT = 70;
/** Offset of the button in pixels, so that edge and button can both be clicked. */
const SIDE_OFFSET = 15;

interface Props {
  edges: readonly EdgeEntry[];
  routes: ReadonlyMap<string, Route>;
}

/** All buttons in one layer; separate components would search for the layer on every move. */
export const EdgeLabels = memo(function EdgeLabels({ edges, routes }: Props) {
  return (
    <EdgeLabelRenderer>
      {edges.map((entry) => {
        const route = routes.get(entry.id);
        return route && <Label key={entry.id} entry={entry} route={route} />;
      })}
    </EdgeLabelRenderer>
  );
});

const Label = memo(function Label({ entry, route }: { entry: EdgeEntry; route: Route }) {
  const store = useCanvasStore();
  const { id } = entry;
  const highlighted = useCanvasState(({ hovered, selected }) => {
    const current = selected.at(-1);
    return hovered === id || (!!current && (current === entry.source || current === entry.target));
  });
  const picked = useCanvasState((state) => state.picked.has(id));
  const { from, to, middle } = route;
  const [wide, tall] = [Math.abs(to.x - from.x), Math.abs(to.y - from.y)];
  const short = wide < SHORT && tall < SHORT;
  const at = `translate(${middle.x + (short ? SIDE_OFFSET : 0)}px, ${middle.y}px)`;
  const goal = entry.target ? `${entry.target}.${entry.input}` : `output ${entry.input}`;
  if (picked || entry.argument) return null;
  return (
        <button
          type="button"
          className="wb-plus nodrag nopan"
          tabIndex={-1}
          style={{ transform: `translate(-50%, -50%) ${at}` }}
          data-wb="plus"
          data-edge={id}
          data-on={highlighted || undefined}
          aria-label={`Add an operator between ${entry.source}.${entry.output} and ${goal}`}
          onPointerEnter={() => store.set({ hovered: id })}
          onPointerLeave={() => store.get().hovered === id && store.set({ hovered: "" })}
          onClick={(event) => {
            const at = { x: event.clientX, y: event.clientY };
            store.set({ popup: { kind: "search", place: { do: "add_on", edge: id }, at } });
          }}
        >
          <Icon name="plus" size={11} />
        </button>
  );
});

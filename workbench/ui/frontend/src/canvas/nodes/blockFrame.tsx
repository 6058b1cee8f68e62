// A block as a frame around its bodies: condition in its title, with the branch that ran
// highlighted.

import type { NodeProps } from "@xyflow/react";
import { memo } from "preact/compat";
import { collapse, openScope } from "../state/actions";
import { useBranchText, useRan } from "../state/branches";
import { useCanvasState, useCanvasStore } from "../state/context";
import { rendersEqually, type OpFlow } from "../state/flowElements";
import { Icon } from "../../lib/icons";
import { labelNextTo } from "../layout/nodeLabels";
import { facts, Ports } from "./nodeViews";
import { RenameField } from "./renameField";

const WORDS = { ran: "ran", not: "not run", "": "" } as const;

export const BlockFrame = memo(function BlockFrame({ data, selected }: NodeProps<OpFlow>) {
  const store = useCanvasStore();
  const { entry } = data;
  const told = useBranchText(entry.id);
  const outer = useRan(entry.scope);
  const happened = outer === "not" ? WORDS.not : told;
  const aside = labelNextTo(entry);
  return (
    <>
      <div
        className="wb-block"
        {...facts(data, selected, happened ? [happened] : [])}
        data-ran={outer || undefined}
      >
        {entry.place?.rects?.map(({ scope, x, y, width, height }) => (
          <BodyArea key={scope} scope={scope} at={{ left: x, top: y, width, height }} />
        ))}
        <span className="wb-block-title">
          {entry.fault && <Icon name="warn" size={12} />}
          <b onDblClick={() => store.set({ renaming: entry.id })}>{entry.title}</b>
          {aside && <small> {aside}</small>}
          {happened && <span data-wb="branch"> · {happened}</span>}
        </span>
      </div>
      <button
        type="button"
        className="wb-block-collapse nodrag"
        tabIndex={-1}
        data-wb="collapse"
        aria-label={`Collapse ${entry.id} to a card`}
        data-tip="Collapse to a card"
        onClick={() => collapse(store, entry, true)}
      >
        <Icon name="up" size={13} />
      </button>
      <RenameField id={entry.id} name={entry.id} />
      <Ports node={entry} />
    </>
  );
}, rendersEqually);

type Area = Record<"left" | "top" | "width" | "height", number>;

function BodyArea({ scope, at }: { scope: string; at: Area }) {
  const ran = useRan(scope);
  return <div className="wb-body-area" style={at} data-ran={ran || undefined} />;
}

/** Bar for the inputs of a body, across its width; opens the body. */
export const BodyBar = memo(function BodyBar({ data, selected }: NodeProps<OpFlow>) {
  const store = useCanvasStore();
  const { entry } = data;
  const ran = useRan(entry.id);
  const [block, id] = entry.id.split(".") as [string, string];
  const body = useCanvasState(({ nodes }) =>
    nodes.find(({ id }) => id === block)?.bodies.find(({ scope }) => scope === entry.id),
  );
  const name = body?.title || id;
  const count = `${body?.nodes ?? 0} ${body?.nodes === 1 ? "operator" : "operators"}`;
  return (
    <>
      <div
        className="wb-body-bar"
        {...facts(data, selected, ran ? [WORDS[ran]] : [])}
        aria-label={`${name}${ran && ` · ${WORDS[ran]}`}${body?.faulty ? ", has a fault" : ""}, inputs of ${entry.id}`}
        data-ran={ran || undefined}
        onDblClick={() => openScope(store, entry.id)}
      >
        {body?.faulty && <Icon name="warn" size={12} />}
        <b>{name}</b>
        {ran && <span> · {WORDS[ran]}</span>}
      </div>
      <button
        type="button"
        className="wb-body-open nodrag"
        tabIndex={-1}
        data-wb="open-body"
        data-scope={entry.id}
        data-fault={body?.faulty || undefined}
        data-ran={ran ? ran === "ran" : undefined}
        aria-label={`Open ${name} of ${block}, ${count}`}
        data-tip={`Open ${name}`}
        onClick={(event) => {
          event.stopPropagation(); // the selection follows the opened body
          openScope(store, entry.id);
        }}
      >
        <Icon name="fit" size={12} />
      </button>
      <Ports node={entry} />
    </>
  );
}, rendersEqually);

// Elements of the canvas: operator card, generator pill, output pill.

import type { NodeProps } from "@xyflow/react";
import { Fragment } from "preact";
import { memo } from "preact/compat";
import type { NodeEntry } from "../../payloads";
import { collapse, openScope } from "../state/actions";
import { useCanvasState, useCanvasStore } from "../state/context";
import { rendersEqually, type OpFlow, type OutFlow } from "../state/flowElements";
import { drawnInputs, inputSocket, outputOf, outputSocket, pillSocket, type DrawnNode } from "../layout/geometry";
import { RandomIcon, Icon } from "../../lib/icons";
import { labelNextTo, described, randomValueText, tipOf } from "../layout/nodeLabels";
import { NodePicture, useLines } from "./nodePicture";
import { Port } from "./ports";
import { useRan } from "../state/branches";
import { RenameField } from "./renameField";

export function Ports({ node }: { node: DrawnNode }) {
  return (
    <>
      {drawnInputs(node).map((port) => (
        <Port
          key={`in:${port.name}`}
          node={node.id}
          port={port}
          into
          at={inputSocket(node, port.name)}
        />
      ))}
      {node.outputs.map((port) => (
        <Port
          key={`out:${port.name}`}
          node={node.id}
          port={port}
          into={false}
          at={outputSocket(node, port.name)}
        />
      ))}
    </>
  );
}

/** Buttons that open the bodies of a block. */
function Bodies({ node }: { node: NodeEntry }) {
  const store = useCanvasStore();
  const branches = useCanvasState(({ cards }) => cards.get(node.id)?.branches);
  if (!node.bodies.length) return null;
  return (
    <div className="wb-card-bodies nodrag" role="group" aria-label={`Bodies of ${node.id}`}>
      {node.bodies.map(({ name, title, scope, nodes, faulty }) => (
        <button
          key={scope}
          type="button"
          tabIndex={-1}
          data-wb="open-body"
          data-scope={scope}
          data-fault={faulty || undefined}
          data-ran={branches?.includes(name)}
          aria-label={`Open ${title || name} of ${node.id}, ${nodes} ${nodes === 1 ? "operator" : "operators"}`}
          data-tip={
            `Open ${title || name}: ${nodes || "no"} ${nodes === 1 ? "operator" : "operators"}` +
            (branches ? `\n\n${branches.includes(name) ? "Ran" : "Did not run"} for this sample.` : "")
          }
          onClick={() => openScope(store, scope)}
        >
          {title || name} <small>{nodes}</small>
        </button>
      ))}
    </div>
  );
}

/** Return the attributes that the elements of all nodes have. */
export function facts(
  { entry, current, reached }: OpFlow["data"],
  selected: boolean,
  lines: readonly string[],
) {
  return {
    role: "button" as const,
    tabIndex: reached ? 0 : -1,
    "data-wb": "node",
    "data-node": entry.id,
    "data-focus": entry.id,
    "data-device": entry.device,
    "data-role": entry.role,
    "data-fault": entry.fault ? (entry.warned ? "warning" : "true") : undefined,
    "data-muted": entry.muted || undefined,
    "data-loose": entry.loose || undefined,
    "data-known": entry.known ? undefined : "false",
    "data-tip": tipOf(entry),
    "aria-label": described(entry, lines),
    "aria-pressed": selected,
    "aria-current": current ? ("true" as const) : undefined,
  };
}

/** Return a name in which lines can break after each word. */
function breakable(name: string) {
  return name.split(/(?<=[_.])/).map((word, at) => (
    <Fragment key={at}>
      {at > 0 && <wbr />}
      {word}
    </Fragment>
  ));
}

export const Card = memo(function Card({ data, selected }: NodeProps<OpFlow>) {
  const store = useCanvasStore();
  const { entry, strays } = data;
  const aside = labelNextTo(entry);
  const ran = useRan(entry.scope);
  const lines = useLines(entry, ran === "not");
  const stray = strays ? (entry.device === "cpu" ? "CPU" : "GPU") : "";
  const said = [...lines.map(({ text }) => text), stray];
  return (
    <>
      <div
        className="wb-card"
        {...facts(data, selected, said)}
        data-block={entry.bodies.length > 0 || undefined}
        data-taken={!entry.op || undefined}
        data-ran={ran || undefined}
        onDblClick={() => entry.bodies.length && collapse(store, entry, false)}
      >
        <div className="wb-card-text">
          <b
            onDblClick={() => {
              if (entry.op && !entry.bodies.length) store.set({ renaming: entry.id });
            }}
          >
            <span>{breakable(entry.title)}</span>
            {aside && <small> {aside}</small>}
          </b>{" "}
          {lines.map(({ what, text }) => (
            <Fragment key={what}>
              <span className="wb-card-line" data-what={what}>
                {what === "draws" && <RandomIcon size={12} />}
                {text}
              </span>{" "}
            </Fragment>
          ))}
        </div>
        {stray && <span className="wb-card-device">{stray}</span>}
        {!entry.known && <span className="wb-card-opaque">?</span>}
        {entry.fault ? (
          <span className="wb-card-fault">
            <Icon name="warn" size={12} />
            <span>{entry.fault}</span>
          </span>
        ) : (
          entry.note && <span className="wb-card-note">{entry.note}</span>
        )}
      </div>
      <NodePicture node={entry} faint={ran === "not"} />
      <Bodies node={entry} />
      <RenameField id={entry.id} name={entry.id} />
      <Ports node={entry} />
    </>
  );
}, rendersEqually);

/** A chain as one card: a click or Enter expands it. */
export const GroupCard = memo(function GroupCard({ data }: NodeProps<OpFlow>) {
  const store = useCanvasStore();
  const { entry, reached } = data;
  const { title, values, group } = entry;
  const last = useCanvasState(({ nodes }) => nodes.find(({ id }) => id === group?.members.at(-1)));
  return (
    <>
      <button
        type="button"
        className="wb-card wb-group nodrag"
        tabIndex={reached ? 0 : -1}
        data-wb="group"
        data-focus={entry.id}
        data-role={entry.role}
        data-loose={entry.loose || undefined}
        data-tip={`${title}\n\n${values}\nClick to expand the chain.`}
        aria-label={`${title}: ${values}. Expands the chain`}
        onClick={(event) => {
          event.stopPropagation(); // the selection follows the opened body
          store.select([entry.id]);
        }}
      >
        <span className="wb-card-text">
          <b>
            <span>{title}</span>
          </b>
          <span className="wb-card-line">{values}</span>
        </span>
      </button>
      {last && <NodePicture node={last} />}
    </>
  );
}, rendersEqually);

export const Generator = memo(function Generator({ data, selected }: NodeProps<OpFlow>) {
  const store = useCanvasStore();
  const { entry } = data;
  const [word, from] = randomValueText(entry);
  return (
    <>
      <div className="wb-generator" {...facts(data, selected, [])}>
        {entry.fault ? <Icon name="warn" size={12} /> : <RandomIcon size={12} />}
        <b onDblClick={() => store.set({ renaming: entry.id })}>{word}</b>{" "}
        <span>{from}</span>
      </div>
      <RenameField id={entry.id} name={entry.id} />
      <Ports node={entry} />
    </>
  );
}, rendersEqually);

export const Output = memo(function Output({ data, selected }: NodeProps<OutFlow>) {
  const store = useCanvasStore();
  const { edge, reached } = data;
  const { id } = edge;
  const { scope } = outputOf(id);
  const ran = useRan(scope);
  const end = { name: "", kind: edge.kind, argument: false, fed: true, optional: false, flows: "" };
  return (
    <>
      <div
        className="wb-output"
        role="button"
        tabIndex={reached ? 0 : -1}
        data-wb="output"
        data-output={edge.input}
        data-focus={id}
        data-ran={ran || undefined}
        data-tip={`${edge.input} · output of ${scope || store.scope || "the graph"}\n\n${edge.source}.${edge.output} · ${edge.kind}`}
        aria-label={`output ${edge.input}${scope && ` of ${scope}`}, from ${edge.source}, ${edge.kind}`}
        aria-pressed={selected}
        onDblClick={() => store.set({ renaming: id })}
      >
        {!scope && <span>output </span>}
        <b>{edge.input}</b>
      </div>
      <RenameField id={id} name={edge.input} />
      <Port
        node={id}
        port={end}
        into
        at={pillSocket(edge)}
        edge={edge.id}
      />
    </>
  );
}, rendersEqually);

// What stands on the canvas: an operator's card, a generator's pill, an output's pill.

import type { NodeProps } from "@xyflow/react";
import { memo } from "react";
import type { DrawEntry, NodeEntry } from "../views";
import { openScope } from "./actions";
import { useCanvasStore } from "./context";
import type { OpFlow, OutFlow } from "./flowElements";
import {
  drawnInputs,
  drawWords,
  inputSocket,
  outputId,
  outputSize,
  outputSocket,
  PILL,
  sizeOf,
} from "./geometry";
import { Dice, Icon } from "./icons";
import { Port } from "./ports";
import { RenameField } from "./renameField";

/** Letters of a card's first line. */
const ROOM = 16;
const SHORT = { cpu: "CPU", mixed: "MIX", gpu: "GPU" } as const;

/** What the id says beyond the operator's name: `2` of `flip_2`, all of `left_view`. */
function besides({ id, op, twin }: NodeEntry): string {
  if (!op) return "";
  const last = op.split(".").at(-1) ?? op;
  const usual = [last, op.replaceAll(".", "_")];
  if (usual.includes(id) || (op.startsWith("readers.") && id === "reader")) return "";
  if (op.startsWith("decoders.") && id === "decode") return "";
  if (op.includes(id) && !twin) return "";
  const number = /^(.*)_(\d+)$/.exec(id);
  const word = number?.[1] ?? "";
  return word && ([...usual, "reader", "decode"].includes(word) || op.includes(word)) ? number![2]! : id;
}

/** What stands beside the operator's name: where there is room, and always where names are equal. */
function beside(node: NodeEntry): string {
  const id = besides(node);
  if (node.bodies.length) return id;
  return node.twin || node.title.length + id.length <= ROOM ? id : "";
}

/** What a screen reader says: first what one sees, in its order, then what is only in the tip. */
function described(node: NodeEntry): string {
  const seen = node.generator
    ? drawWords(node)
    : [
        node.title,
        beside(node),
        node.output,
        SHORT[node.device],
        !node.known && "?",
        node.fault || node.note,
      ];
  const more = [
    node.generator && node.op,
    node.id,
    ...node.draws.map((draw) => draw.text),
    !node.op && node.label,
    !node.known && (node.label ? "code" : "not an operator of this DALI"),
    node.fault && "faulty",
  ];
  return [seen.filter(Boolean).join(" "), ...more.filter(Boolean)].join(", ");
}

/** Nothing where the card itself says it all. */
function tipOf(node: NodeEntry): string | undefined {
  const cut = node.title.length + besides(node).length > ROOM || node.output.length > 18;
  if (!cut && node.known && !node.fault && !node.generator) return undefined;
  const aside = node.label && node.label !== node.op ? `${node.id} · ${node.label}` : node.id;
  const lacking = node.label
    ? "It stands for code that the graph cannot hold, and is kept as it is."
    : "This DALI does not have it. It is kept as it is.";
  const opaque = node.known ? "" : lacking;
  const draws = node.draws.map((draw) => draw.text);
  return [`${node.title}\n\n${aside}`, node.output, ...draws, opaque, node.fault]
    .filter(Boolean)
    .join("\n");
}

function Ports({ node }: { node: NodeEntry }) {
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

/** The folded draws over a card; a click draws the generator as a node of its own. */
function Draws({ id, draws }: { id: string; draws: readonly DrawEntry[] }) {
  const store = useCanvasStore();
  if (!draws.length) return null;
  const shown = draws.length > PILL.shown ? draws.slice(0, PILL.shown - 1) : draws;
  const more = draws.length - shown.length;
  const all = draws.map((draw) => draw.text).join("\n");
  return (
    <div className="wb-draws">
      {shown.map(({ arg, text }) => (
        <button
          key={arg}
          type="button"
          className="wb-pill nodrag"
          tabIndex={-1}
          data-wb="draw"
          data-arg={arg}
          data-tip={`${text}\n\nClick to show the generator as a node of its own, and share it.`}
          onClick={() => store.link.ask("unfold", { node: id, arg })}
        >
          <Dice />
          <span>{text.replace("~ uniform ", "~ ").replace(/-(?=\d)/g, "−")}</span>
        </button>
      ))}
      {more > 0 && (
        <button
          type="button"
          className="wb-pill nodrag"
          tabIndex={-1}
          data-wb="draws"
          data-tip={all}
          onClick={() => store.set({ popup: { kind: "draws", node: id } })}
        >
          <Dice />
          <span>{more} more</span>
        </button>
      )}
    </div>
  );
}

/** Opens the bodies of a region. */
function Bodies({ node }: { node: NodeEntry }) {
  const store = useCanvasStore();
  if (!node.bodies.length) return null;
  return (
    <div className="wb-card-bodies nodrag" role="group" aria-label={`Bodies of ${node.id}`}>
      {node.bodies.map(({ name, scope, nodes, faulty }) => (
        <button
          key={scope}
          type="button"
          tabIndex={-1}
          data-wb="open-body"
          data-scope={scope}
          data-fault={faulty || undefined}
          aria-label={`Open ${name} of ${node.id}, ${nodes} ${nodes === 1 ? "operator" : "operators"}`}
          data-tip={`Open ${name}: ${nodes || "no"} ${nodes === 1 ? "operator" : "operators"}`}
          onClick={() => openScope(store, scope)}
        >
          {name} <small>{nodes}</small>
        </button>
      ))}
    </div>
  );
}

/** What every node's own element says of it. */
function facts({ entry, current, reached }: OpFlow["data"], selected: boolean) {
  return {
    role: "button",
    tabIndex: reached ? 0 : -1,
    "data-wb": "node",
    "data-node": entry.id,
    "data-focus": entry.id,
    "data-device": entry.device,
    "data-fault": entry.fault ? "true" : undefined,
    "data-known": entry.known ? undefined : "false",
    "data-tip": tipOf(entry),
    "aria-label": described(entry),
    "aria-pressed": selected,
    "aria-current": current ? ("true" as const) : undefined,
  };
}

export const Card = memo(function Card({ data, selected }: NodeProps<OpFlow>) {
  const store = useCanvasStore();
  const { entry } = data;
  const aside = beside(entry);
  const { over } = sizeOf(entry);
  return (
    <>
      {over > 0 && <i className="wb-stem" style={{ height: over }} />}
      <Draws id={entry.id} draws={entry.draws} />
      <div
        className="wb-card"
        {...facts(data, selected)}
        data-region={entry.bodies.length > 0 || undefined}
        data-taken={!entry.op || undefined}
        onDoubleClick={() => entry.bodies[0] && openScope(store, entry.bodies[0].scope)}
      >
        <b
          onDoubleClick={() => {
            if (entry.op && !entry.bodies.length) store.set({ renaming: entry.id });
          }}
        >
          <span>{entry.title}</span>
          {aside && <small> {aside}</small>}
        </b>{" "}
        <span className="wb-card-shape">{entry.output}</span>{" "}
        <span className="wb-card-device">{SHORT[entry.device]}</span>{" "}
        {!entry.known && <span className="wb-card-opaque">?</span>}
        {entry.fault ? (
          <span className="wb-card-fault">
            <Icon name="warn" size={12} />
            {entry.fault}
          </span>
        ) : (
          entry.note && <span className="wb-card-note">{entry.note}</span>
        )}
      </div>
      <Bodies node={entry} />
      <RenameField id={entry.id} name={entry.id} />
      <Ports node={entry} />
    </>
  );
});

export const Generator = memo(function Generator({ data, selected }: NodeProps<OpFlow>) {
  const store = useCanvasStore();
  const { entry } = data;
  const [word, from] = drawWords(entry);
  return (
    <>
      <div className="wb-generator" {...facts(data, selected)}>
        {entry.fault ? <Icon name="warn" size={12} /> : <Dice />}
        <b onDoubleClick={() => store.set({ renaming: entry.id })}>{word}</b>
        <span>{from}</span>
      </div>
      <RenameField id={entry.id} name={entry.id} />
      <Ports node={entry} />
    </>
  );
});

export const Output = memo(function Output({ data, selected }: NodeProps<OutFlow>) {
  const store = useCanvasStore();
  const { edge, reached } = data;
  const id = outputId(edge.input);
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
        data-tip={`${edge.input} · output of ${store.scope || "the graph"}\n\n${edge.source}.${edge.output} · ${edge.kind}`}
        aria-label={`output ${edge.input}, from ${edge.source}, ${edge.kind}`}
        aria-pressed={selected}
        onDoubleClick={() => store.set({ renaming: id })}
      >
        output <b>{edge.input}</b>
      </div>
      <RenameField id={id} name={edge.input} />
      <Port
        node={id}
        port={end}
        into
        at={{ x: 0, y: outputSize(edge.input).height / 2, side: "left" }}
        edge={edge.id}
      />
    </>
  );
});

// Block in the inspector: its condition or probabilities, and its bodies, with buttons to open, keep
// or remove them.

import { useRef } from "preact/hooks";
import type { InspectorView } from "../payloads";
import { WordButton } from "../lib/button";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { roundedText } from "../lib/number";
import type { InteractionGuard } from "./interactionGuard";
import { BodyShare, CountShares } from "./bodyShares";
import { BodyTitle } from "./bodyTitle";
import { Probability, Weights } from "./chance";
import { Condition } from "./condition";
import { Fused } from "./fused";

interface Props {
  link: Link<"inspector">;
  view: Partial<InspectorView>;
  guard: InteractionGuard;
}

export function Block({ link, view, guard }: Props) {
  const { bodies = [], condition = "", condition_node: node = "", id = "" } = view;
  const add = useRef<HTMLButtonElement>(null);
  const classes = useField(link, "classes", []);
  const { asks = null } = view;
  const { control = "", probability = null, weights = [], numbered = false } = view;
  return (
    <div class="wb-block" data-wb="block" hidden={!bodies.length}>
      <div class="wb-block-condition">
        <b>{control}</b>
        <span>{condition ? `${condition}${node && `, from ${node}`}` : "not connected"}</span>
        <WordButton
          label="Show"
          name="condition"
          hidden={!node}
          onClick={() => link.ask("select", { node })}
        />
      </div>
      {asks && <Condition key={`asks ${id}`} {...{ link, guard, asks, classes }} block={id} />}
      {probability !== null && (
        <Probability key={id} {...{ link, guard, probability }} block={id} />
      )}
      {weights.length > 0 && <Weights key={id} {...{ link, guard, weights }} block={id} />}
      {asks?.fused && <Fused link={link} block={id} op={asks.fused} />}
      <div class="wb-block-bodies">
        {bodies.map(({ name, title, scope, nodes, faulty }, at) => (
          <div
            key={scope}
            class="wb-block-body"
            role="group"
            aria-label={`${name} of ${id}`}
          >
            <b>{name}</b>
            {bodies.length > 1 && <BodyTitle {...{ link, guard, name, title }} block={id} />}
            {weights[at] !== undefined && <span data-wb="share">{percent(weights[at])}</span>}
            {faulty ? (
              <span class="wb-arg-error">
                <Icon name="warn" size={12} />
                has a fault
              </span>
            ) : (
              <span class="wb-muted">{nodes === 0 ? "no operators" : operatorCount(nodes)}</span>
            )}
            <WordButton
              label="Open"
              name="open-body"
              data-scope={scope}
              aria-label={`Open ${name} of ${id}`}
              onClick={() => link.ask("open_scope", { scope })}
            />
            <WordButton
              label="Keep only"
              name="keep-body"
              data-tip={`Replace ${id} with the nodes of ${name}`}
              aria-label={`Keep only ${name} of ${id}`}
              onClick={() => link.ask("unwrap", { node: id, body: name })}
            />
            <div class="wb-block-row">
              <BodyShare link={link} body={name} />
              {numbered && (
                <span class="wb-block-order">
                  <Mover {...{ link, at, name }} count={bodies.length} block={id} />
                  {bodies.length > 2 && (
                    <button
                      class="wb-quiet"
                      type="button"
                      data-wb="remove-option"
                      data-tip="Remove"
                      aria-label={`Remove ${name} of ${id}`}
                      onClick={() => {
                        link.ask("remove_option", { block: id, body: name });
                        add.current?.focus(); // the button disappears, and keys would reach the host
                      }}
                    >
                      <Icon name="close" size={12} />
                    </button>
                  )}
                </span>
              )}
            </div>
          </div>
        ))}
      </div>
      <CountShares link={link} />
      {asks && (
        <WordButton
          label="Add an elif"
          name="add-elif"
          data-tip="A second condition, checked if this one is false"
          onClick={() => link.ask("add_elif", { node: id })}
        />
      )}
      {numbered && (
        <button
          ref={add}
          class="wb-quiet"
          type="button"
          data-wb="add-option"
          onClick={() => link.ask("add_option", { block: id })}
        >
          Add an option
        </button>
      )}
    </div>
  );
}

interface MoverProps {
  link: Link<"inspector">;
  at: number;
  count: number;
  name: string;
  block: string;
}

function Mover({ link, at, count, name, block }: MoverProps) {
  const button = (by: -1 | 1, word: string, end: boolean) => (
    <button
      class="wb-quiet"
      type="button"
      data-wb={`move-option-${word}`}
      aria-label={`Move ${name} of ${block} ${word}`}
      data-tip={`Move ${word}, with its weight`}
      disabled={end}
      onClick={() => link.ask("move_option", { block, body: name, by })}
    >
      <Icon name={by < 0 ? "up" : "down"} size={12} />
    </button>
  );
  return (
    <>
      {button(-1, "up", at === 0)}
      {button(1, "down", at === count - 1)}
    </>
  );
}

function percent(share: number): string {
  return `${roundedText(share * 100)} %`;
}

function operatorCount(nodes: number): string {
  return `${nodes} ${nodes === 1 ? "operator" : "operators"}`;
}

// State of the canvas, synchronised with Python's fields, and objects that its parts need.

import { Decoder, type Sheet } from "../../lib/contactSheet";
import { jsonEqual, reuseEqual, reuseUnchanged } from "../../lib/jsonEquality";
import type { Link } from "../../lib/link";
import type { CardsHeader, DetailHeader } from "../../payloads";
import { NO_LAYOUT, type LayoutCache } from "../layout/layoutCache";
import { AnnouncedEdit } from "./announcedEdit";
import { CanvasDom } from "./canvasDom";
import { CanvasState, FIELDS, NONE, type FieldName, type Fields } from "./canvasState";
import { findAllGroups, findGroups, type Group } from "../layout/groups";
import { paletteWasOpen } from "./paletteVisibility";

export class CanvasStore extends CanvasState {
  readonly dom: CanvasDom;
  /** Layout as last rendered. */
  layout: LayoutCache = NO_LAYOUT;
  /** Whether this view requested the code that Python sends next. */
  wantsCode = false;
  private readonly announced: AnnouncedEdit;

  constructor(
    readonly link: Link<"canvas">,
    root: HTMLElement,
  ) {
    super();
    this.dom = new CanvasDom(root);
    this.announced = new AnnouncedEdit(link);
    this.set({ palette: paletteWasOpen() });
    link.watch(Object.keys(FIELDS) as FieldName[], () => this.adopt());
    link.on("ack", () => queueMicrotask(() => this.answered()));
    const cards = new Decoder<CardsHeader>(
      (sheet) => this.show(sheet),
      warnUnreadable,
      () => this.set({ sheet: null, cards: new Map() }),
    );
    const detail = new Decoder<DetailHeader>(
      (sheet) => this.set({ detail: sheet }),
      warnUnreadable,
      () => this.set({ detail: null }),
    );
    link.watch(["pictures"], () => cards.push(link.get("pictures", NO_BYTES)));
    link.watch(["detail"], () => detail.push(link.get("detail", NO_BYTES)));
  }

  /** Copy the fields from Python, reusing unchanged objects. */
  private adopt(): void {
    const old = this.get();
    const names = Object.keys(FIELDS) as FieldName[];
    const fields = Object.fromEntries(
      names.map((name) => [name, reuseEqual<unknown>(old[name], this.link.get(name, FIELDS[name]))]),
    ) as unknown as Fields;
    const { nodes, edges, positions } = fields;
    const changed = nodes !== old.nodes || edges !== old.edges;
    // Only when a graph is opened: edits must not collapse anything under the pointer.
    const opened = fields.graph_number !== old.graph_number || !old.nodes.length;
    this.set({
      ...fields,
      groups: opened
        ? findGroups(nodes, edges, fields.selected)
        : without(old.groups, fields.selected, nodes.filter(({ fault }) => fault).map(({ id }) => id)),
      crowded: old.crowded && !opened && positions === old.positions,
      moved: positions === old.positions ? old.moved : null,
      said: changed && this.announced.isOver(nodes, edges) ? "" : old.said,
    });
    this.dom.root.dataset["nodes"] = String(nodes.length);
  }

  /** Use the positions from Python, even if Python has refused the move. */
  private answered(): void {
    this.announced.settle();
    if (!this.link.waiting && !this.get().dragging) this.set({ moved: null });
  }

  private show(sheet: Sheet<CardsHeader>): void {
    const cards = reuseUnchanged([...this.get().cards.values()], sheet.header.cards);
    this.set({ sheet, cards: new Map(cards.map((card) => [card.id, card])) });
    const { dataset } = this.dom.root;
    dataset["sample"] = String(sheet.header.index);
    dataset["sheet"] = String(Number(dataset["sheet"] ?? 0) + 1);
  }

  /** Show another sample on the cards. */
  choose(sample: number): void {
    const last = Math.max(0, (this.get().sheet?.header.samples ?? 1) - 1);
    const chosen = Math.min(last, Math.max(0, sample));
    if (chosen === this.get().sample) return;
    this.set({ sample: chosen });
    this.link.set("sample", chosen);
  }

  /** Show a node in detail, or close its details. */
  look(node: string): void {
    const detail_of = node === this.get().detail_of ? "" : node;
    this.set({ detail_of, detail: null });
    this.link.set("detail_of", detail_of);
  }

  /** Show long chains as one card each, except those with a selected node. */
  collapseChains(): void {
    const { nodes, edges, selected } = this.get();
    this.set({ groups: findGroups(nodes, edges, selected, 0) });
  }

  /** Show every chain as one card, because the graph is too wide for the canvas. */
  collapseAll(): void {
    const { nodes, edges, selected } = this.get();
    this.set({ groups: findAllGroups(nodes, edges, selected), crowded: true });
  }

  /** Select nodes; collapsed chains are expanded, and their first node is selected. */
  select(selected: readonly string[], picked: ReadonlySet<string> = NONE): void {
    const { groups } = this.get();
    const opened = groups.filter(({ id, members }) => [id, ...members].some((each) => selected.includes(each)));
    if (opened.length) {
      this.set({ groups: groups.filter((group) => !opened.includes(group)) });
      const own = new Map(opened.map(({ id, members }) => [id, members[0]!]));
      selected = selected.map((id) => own.get(id) ?? id);
    }
    if (!jsonEqual(this.get().selected, selected)) this.link.set("selected", [...selected]);
    this.set({ selected, picked });
  }

  say(said: string): void {
    this.announced.start();
    // A no-break space changes the text, so that it is announced again.
    this.set({ said: this.get().said === said ? `${said}\u00a0` : said });
  }
}

/** Return the groups that contain none of the nodes `shown`. */
function without(groups: readonly Group[], ...shown: readonly (readonly string[])[]): readonly Group[] {
  const ids = new Set(shown.flat());
  const left = groups.filter(({ members }) => !members.some((id) => ids.has(id)));
  return left.length === groups.length ? groups : left;
}

const NO_BYTES = new ArrayBuffer(0);

function warnUnreadable(reason: string): void {
  console.warn(`The pictures of the cards could not be read: ${reason}`);
}

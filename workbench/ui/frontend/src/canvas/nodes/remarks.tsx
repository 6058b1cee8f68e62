// Groups around nodes, and notes: display and editing.

import type { TargetedFocusEvent, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useReactFlow, ViewportPortal } from "@xyflow/react";
import { memo } from "preact/compat";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FrameEntry, NoteEntry } from "../../payloads";
import { NEW } from "../state/actions";
import { useCanvasStore, useCanvasState } from "../state/context";
import { notesAt } from "../layout/firstView";
import type { Point } from "../layout/geometry";
import { Icon } from "../../lib/icons";
import type { LayoutCache } from "../layout/layoutCache";

const PAD = 16;
/** Pixels that a key moves a note. */
const STEP = 18;
const ARROWS: Record<string, Point> = {
  ArrowLeft: { x: -STEP, y: 0 },
  ArrowRight: { x: STEP, y: 0 },
  ArrowUp: { x: 0, y: -STEP },
  ArrowDown: { x: 0, y: STEP },
};

const TIPS = {
  frame: "Double-click to rename, click to select its nodes",
  note: "Click to show all, double-click to edit",
};

/** Return the key of a text, which is stored as `renaming` while the text is edited. */
const key = (kind: "frame" | "note", id: string): string => `${kind}:${id}`;

/** Start editing an element that was requested, once it exists. */
function useOpened(kind: "frame" | "note", entries: readonly { id: string }[]): void {
  const store = useCanvasStore();
  const known = useRef(new Set(entries.map(({ id }) => id)));
  useEffect(() => {
    const fresh = entries.find(({ id }) => !known.current.has(id));
    known.current = new Set(entries.map(({ id }) => id));
    if (fresh && store.get().renaming === NEW[kind]) store.set({ renaming: key(kind, fresh.id) });
  }, [entries]);
}

export const Frames = memo(function Frames({ places }: { places: LayoutCache }) {
  const frames = useCanvasState((state) => state.frames);
  useOpened("frame", frames);
  return (
    <ViewportPortal>
      {frames.map((frame) => (
        <FrameBox key={frame.id} frame={frame} places={places} />
      ))}
    </ViewportPortal>
  );
});

function FrameBox({ frame, places }: { frame: FrameEntry; places: LayoutCache }) {
  const { id, title, nodes } = frame;
  const store = useCanvasStore();
  const moved = useCanvasState((state) => state.moved);
  const around = places.boxes.flatMap((box) => {
    const at = moved?.get(box.id) ?? places.spots.get(box.id);
    return at && nodes.includes(box.id) ? [{ ...box, ...at }] : [];
  });
  if (!around.length) return null;
  const left = Math.min(...around.map(({ x }) => x)) - PAD;
  const top = Math.min(...around.map(({ y }) => y)) - PAD;
  const right = Math.max(...around.map(({ x, width }) => x + width)) + PAD;
  const bottom = Math.max(...around.map(({ y, height }) => y + height)) + PAD;
  const remove = (): void => {
    store.link.ask("remove_frame", { frame: id });
    store.say(`group ${title} removed`);
    store.dom.focus("");
  };
  return (
    <div
      className="wb-frame"
      data-wb="frame"
      data-frame={id}
      style={{ transform: `translate(${left}px, ${top}px)`, width: right - left, height: bottom - top }}
    >
      <Writable
        kind="frame"
        id={id}
        text={title}
        label={`Group ${title}: ${nodes.join(", ")}`}
        most={80}
        write={(text) => text && store.link.ask("frame", { frame: id, title: text, nodes: [] })}
        remove={remove}
        choose={() => store.select([...nodes])}
      />
    </div>
  );
}

export const Notes = memo(function Notes({ places }: { places: LayoutCache }) {
  const entries = useCanvasState((state) => state.notes);
  const notes = useMemo(() => notesAt(entries, places.settled), [entries, places.settled]);
  useOpened("note", notes);
  return (
    <ViewportPortal>
      {notes.map((note) => (
        <NoteBox key={note.id} note={note} />
      ))}
    </ViewportPortal>
  );
});

function NoteBox({ note }: { note: NoteEntry }) {
  const { id, text } = note;
  const store = useCanvasStore();
  const flow = useReactFlow();
  const [drag, setDrag] = useState<Point | null>(null);
  useEffect(() => setDrag(null), [note]);
  const at = drag ?? note;
  const put = ({ x, y }: Point): void => {
    store.link.ask("note", { note: id, text, x: Math.round(x), y: Math.round(y) });
  };
  const grab = (event: TargetedPointerEvent<HTMLElement>): void => {
    if (event.button || (event.target as HTMLElement).matches("textarea")) return;
    const [from, zoom] = [{ x: event.clientX, y: event.clientY }, flow.getZoom()];
    const to = ({ clientX, clientY }: PointerEvent): Point => ({
      x: note.x + (clientX - from.x) / zoom,
      y: note.y + (clientY - from.y) / zoom,
    });
    const move = (next: PointerEvent): void => setDrag(to(next));
    const end = (next: PointerEvent): void => {
      window.removeEventListener("pointermove", move);
      const there = to(next);
      if (Math.hypot(there.x - note.x, there.y - note.y) > 3) put(there);
      else setDrag(null);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end, { once: true });
  };
  return (
    <div
      className="wb-note nopan nodrag"
      data-wb="note"
      data-note={id}
      style={{ transform: `translate(${at.x}px, ${at.y}px)` }}
      onPointerDown={grab}
    >
      <Writable
        kind="note"
        id={id}
        text={text}
        label={`Note: ${text}`}
        most={2000}
        write={(words) => store.link.ask("note", { note: id, text: words, x: note.x, y: note.y })}
        remove={() => {
          store.link.ask("note", { note: id, text: "", x: 0, y: 0 });
          store.say("note removed");
          store.dom.focus("");
        }}
        move={({ x, y }) => put({ x: note.x + x, y: note.y + y })}
      />
    </div>
  );
}

interface WritableProps {
  kind: "frame" | "note";
  id: string;
  text: string;
  label: string;
  most: number;
  write: (text: string) => unknown;
  remove: () => void;
  choose?: () => void;
  move?: (by: Point) => void;
}

type Field = HTMLInputElement | HTMLTextAreaElement;

function focusAndSelect<F extends Field>(el: F | null): void {
  el?.focus();
  el?.select();
}

/** Text that a double click or Enter edits, and a button that removes the element. */
function Writable({ kind, id, text, label, most, write, remove, choose, move }: WritableProps) {
  const store = useCanvasStore();
  const name = key(kind, id);
  const open = useCanvasState((state) => state.renaming === name);
  const edit = (): void => store.set({ renaming: name });
  const end = (to: string | null): void => {
    if (store.get().renaming !== name) return;
    store.set({ renaming: "" });
    if (to !== null && to !== text) write(to);
  };
  if (open) {
    const field = {
      className: "wb-remark-field nodrag nopan",
      "data-wb": `${kind}-text`,
      "aria-label": kind === "note" ? "Text of the note" : "Title of the group",
      defaultValue: text,
      maxLength: most,
      onBlur: (event: TargetedFocusEvent<Field>) => end(event.currentTarget.value.trim()),
      onKeyDown: (event: TargetedKeyboardEvent<Field>) => {
        event.stopPropagation();
        const done = event.key === "Enter" && (kind === "frame" || event.ctrlKey || event.metaKey);
        if (!done && event.key !== "Escape") return;
        event.preventDefault();
        end(done ? event.currentTarget.value.trim() : null);
        store.dom.focus("");
      },
    };
    return kind === "note" ? (
      <textarea {...field} ref={focusAndSelect<HTMLTextAreaElement>} />
    ) : (
      <input {...field} ref={focusAndSelect<HTMLInputElement>} />
    );
  }
  const onKey = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const step = move && ARROWS[event.key];
    if (event.key === "Enter" || event.key === "F2") edit();
    else if (event.key === "Delete" || event.key === "Backspace") remove();
    else if (event.key === "Escape") store.dom.focus("");
    else if (step) move(step);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <button
        type="button"
        className="wb-remark nopan"
        data-wb={`${kind}-open`}
        aria-label={`${label}. Enter edits, Delete removes`}
        data-tip={TIPS[kind]}
        onClick={choose}
        onDblClick={edit}
        onKeyDown={onKey}
      >
        {text}
      </button>
      <button
        type="button"
        className="wb-remark-remove nopan"
        data-wb={`${kind}-remove`}
        aria-label={kind === "note" ? "Remove the note" : "Remove the group"}
        onClick={remove}
      >
        <Icon name="close" size={11} />
      </button>
    </>
  );
}

// What is typed in a field and not taken yet: that much of undo is the text's, all else the graph's.

interface Text {
  /** As it was when the field got the focus, or when it was last taken. */
  taken: string;
  /** As it was after the last key. */
  typed: string;
  /** Whether the last key took typing back: the next may make it again. */
  undone: boolean;
}

type Field = HTMLInputElement | HTMLTextAreaElement;

const texts = new WeakMap<Field, Text>();

/** Follows what is typed in the fields below `root`. */
export function followTyping(root: HTMLElement): void {
  const settle = ({ target }: Event): void => {
    if (isField(target)) takeText(target);
  };
  root.addEventListener("focusin", settle);
  root.addEventListener("change", settle);
  root.addEventListener("input", (event) => {
    const field = event.target;
    if (!isField(field)) return;
    const taken = texts.get(field)?.taken ?? "";
    const undone = (event as InputEvent).inputType === "historyUndo";
    texts.set(field, { taken, typed: field.value, undone });
  });
}

/** What stands in the field is the graph's from now on, and so is its undo. */
export function takeText(field: Field): void {
  texts.set(field, { taken: field.value, typed: field.value, undone: false });
}

/** Whether a field's text has something of its own to undo, or to make again. */
export function ownsStep(field: Field, redo: boolean): boolean {
  const text = texts.get(field);
  if (!text || field.value !== text.typed) return false; // the graph has set it since
  return redo ? text.undone : text.typed !== text.taken;
}

function isField(target: EventTarget | null): target is Field {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

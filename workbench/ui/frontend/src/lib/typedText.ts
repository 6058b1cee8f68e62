// What is typed in a field and not taken yet: that much of undo is the text's, all else the graph's.

/** Each component is a module of its own, and more than one of them hears a key. */
const TEXT: unique symbol = Symbol.for("workbench text") as never;

interface Text {
  /** As it was when the field got the focus, or when it was last taken. */
  taken: string;
  /** As it was after the last key. */
  typed: string;
  /** What undo has just taken back; null: nothing. */
  undone: string | null;
}

export type TextField = (HTMLInputElement | HTMLTextAreaElement) & { [TEXT]?: Text };

/** Follows what is typed in the fields below `root`. */
export function followTyping(root: HTMLElement): void {
  const settle = ({ target }: Event): void => {
    if (isField(target)) takeText(target);
  };
  root.addEventListener("focusin", settle);
  root.addEventListener("change", settle);
  root.addEventListener("beforeinput", ({ target }) => {
    if (isField(target) && target[TEXT]?.typed !== target.value) takeText(target);
  });
  root.addEventListener("input", ({ target: field }) => {
    if (!isField(field)) return;
    field[TEXT] = { taken: field[TEXT]?.taken ?? "", typed: field.value, undone: null };
  });
}

/** What stands in the field is the graph's from now on, and so is its undo. */
export function takeText(field: TextField): void {
  field[TEXT] = { taken: field.value, typed: field.value, undone: null };
}

/** Whether a field's text has something of its own to undo, or to make again. */
export function ownsStep(field: TextField, redo: boolean): boolean {
  const text = field[TEXT];
  if (!text || field.value !== text.typed) return false; // the graph has set it since
  return redo ? text.undone !== null : text.typed !== text.taken;
}

/** Takes back what was typed, or makes it again. JupyterLab leaves a browser's own undo no key. */
export function stepText(field: TextField, redo: boolean): void {
  const { taken, typed, undone } = field[TEXT]!;
  field.value = redo ? undone! : taken;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field[TEXT] = { taken, typed: field.value, undone: redo ? null : typed };
}

function isField(target: EventTarget | null): target is TextField {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

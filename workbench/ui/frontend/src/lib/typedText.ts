// Typed text that was not applied yet: its undo belongs to the field, all other undo to the graph.

/** Global symbol, because each component is a separate module and several may handle a key. */
const TEXT: unique symbol = Symbol.for("workbench text") as never;

interface Text {
  /** Text when the field got the focus, or when it was last applied. */
  taken: string;
  /** Text after the last key. */
  typed: string;
  /** Text that undo has just removed, or null. */
  undone: string | null;
}

export type TextField = (HTMLInputElement | HTMLTextAreaElement) & { [TEXT]?: Text };

/** Track typing in the fields below `root`. */
export function followTyping(root: HTMLElement): void {
  const settle = ({ target }: Event): void => {
    if (isField(target)) commitText(target);
  };
  root.addEventListener("focusin", settle);
  root.addEventListener("change", settle);
  root.addEventListener("beforeinput", ({ target }) => {
    if (isField(target) && target[TEXT]?.typed !== target.value) commitText(target);
  });
  root.addEventListener("input", ({ target: field }) => {
    if (!isField(field)) return;
    field[TEXT] = { taken: field[TEXT]?.taken ?? "", typed: field.value, undone: null };
  });
}

/** Mark the typed text as applied, so that undo affects the graph. */
export function commitText(field: TextField): void {
  field[TEXT] = { taken: field.value, typed: field.value, undone: null };
}

/** Return whether a field has typed text to undo or redo. */
export function handlesStep(field: TextField, redo: boolean): boolean {
  const text = field[TEXT];
  if (!text || field.value !== text.typed) return false; // the graph has set it since
  return redo ? text.undone !== null : text.typed !== text.taken;
}

/** Undo or redo typed text, because JupyterLab blocks the browser's undo keys. */
export function stepText(field: TextField, redo: boolean): void {
  const { taken, typed, undone } = field[TEXT]!;
  field.value = redo ? undone! : taken;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field[TEXT] = { taken, typed: field.value, undone: redo ? null : typed };
}

function isField(target: EventTarget | null): target is TextField {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

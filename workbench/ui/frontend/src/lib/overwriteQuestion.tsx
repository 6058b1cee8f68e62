// What asks before a file is overwritten.

import { useState } from "preact/hooks";
import type { OverwriteQuestion as Question } from "../payloads";

interface Props {
  question: Partial<Question> | null;
  overwrite: (path: string) => void;
}

/** Hidden while there is nothing to ask. */
export function OverwriteQuestion({ question, overwrite }: Props) {
  const path = question?.path ?? "";
  return (
    <div class="wb-notice wb-overwrite" role="alert" hidden={!path}>
      <span>{question?.message}</span>
      <button class="wb-btn" type="button" data-wb="overwrite" onClick={() => overwrite(path)}>
        Overwrite
      </button>
    </div>
  );
}

/** The question while it is open, and what closes it; one from before the panel was there is closed. */
export function useQuestion(question: Partial<Question>): [Partial<Question> | null, () => void] {
  const [closed, close] = useState(question.number);
  const open = question.path && question.number !== closed;
  return [open ? question : null, () => close(question.number)];
}

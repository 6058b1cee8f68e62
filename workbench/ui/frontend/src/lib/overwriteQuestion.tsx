// Question before a file is overwritten.

import { useState } from "preact/hooks";
import type { OverwriteQuestion as Question } from "../payloads";

interface Props {
  question: Partial<Question> | null;
  overwrite: (path: string) => void;
}

/** Hidden without a question. */
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

/** The open question and a function that closes it; an older question than the panel is closed. */
export function useQuestion(question: Partial<Question>): [Partial<Question> | null, () => void] {
  const [closed, close] = useState(question.number);
  const open = question.path && question.number !== closed;
  return [open ? question : null, () => close(question.number)];
}

// Question before a file is overwritten.

import { useState } from "preact/hooks";
import type { OverwriteQuestion as Question } from "../payloads";

interface Props {
  question: Partial<Question> | null;
  overwrite: (path: string) => void;
}

/** Question with a button to overwrite; hidden if nothing is asked. */
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

/** Return the open question (null if it is older than the panel), and a function to close it. */
export function useQuestion(question: Partial<Question>): [Partial<Question> | null, () => void] {
  const [closed, close] = useState(question.number);
  const open = question.path && question.number !== closed;
  return [open ? question : null, () => close(question.number)];
}

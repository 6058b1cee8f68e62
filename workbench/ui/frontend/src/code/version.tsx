// Dataset version: a form that renders augmented samples to files, its progress and its result.

import { useRef } from "preact/hooks";
import { WordButton } from "../lib/button";
import type { PanelProps } from "../lib/component";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";

type Props = Pick<PanelProps<"code">, "link">;

export function DatasetVersion({ link }: Props) {
  const { state = "none" } = useField(link, "version", {});
  const folder = useField(link, "save_folder", "");
  const form = useRef<HTMLFormElement>(null);
  const running = state === "running";
  const render = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(form.current!);
    const words = (name: string): string => String(given.get(name) ?? "").trim();
    const quality = words("quality");
    link.ask("render_version", {
      path: words("path"),
      format: words("format"),
      copies: Number(words("copies")),
      split: words("split") || "1",
      quality: quality ? Number(quality) : null,
      originals: given.has("originals"),
    });
  };
  return (
    <details class="wb-version wb-fold" data-wb="version">
      <summary>Dataset version: augmented samples as files</summary>
      <form ref={form} class="wb-version-form" onSubmit={render}>
        <label data-tip={folder && `New folder in ${folder}`}>
          Folder
          <input class="wb-val" name="path" defaultValue="version-1" required spellcheck={false} />
        </label>
        <label>
          Format
          <select class="wb-val" name="format">
            {useField(link, "formats", []).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label data-tip="Copies of each training sample, with independent random values">
          Copies
          <input class="wb-val" name="copies" type="number" min={1} max={10000} defaultValue="1" required />
        </label>
        <label data-tip="Shares of train, val and test, which add up to 1. val and test are not augmented">
          Split
          <input class="wb-val" name="split" placeholder="0.8,0.1,0.1" spellcheck={false} />
        </label>
        <label data-tip="1 to 100. Without a quality, pictures are stored as PNG, which is lossless">
          JPEG quality
          <input class="wb-val" name="quality" type="number" min={1} max={100} placeholder="PNG" />
        </label>
        <label class="wb-check" data-tip="Adds the training images as they were read">
          <input type="checkbox" class="wb-hidden" name="originals" />
          <i>
            <Icon name="check" size={11} />
          </i>
          <span>Originals</span>
        </label>
        <button class="wb-btn" type="submit" data-wb="render-version" disabled={running}>
          Render
        </button>
      </form>
      <Result link={link} />
    </details>
  );
}

/** Progress of the running task, or the result of the last one. */
function Result({ link }: Props) {
  const { state = "none", text = "", share = 0, lines = [], provable = false } = useField(link, "version", {});
  const running = state === "running";
  const percent = Math.round(share * 100);
  return (
    <div class="wb-version-result" data-wb="version-result" data-state={state} hidden={state === "none"}>
      <div class="wb-version-run">
        <div
          class="wb-progress"
          role="progressbar"
          aria-label="Dataset version"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={percent}
          aria-valuetext={`${percent} %: ${text}`}
          hidden={!running}
        >
          <i style={{ width: `${percent}%` }} />
        </div>
        {state === "failed" && <Icon name="warn" size={14} />}
        <span>{running ? `${percent} % · ${text}` : text}</span>
        <WordButton
          label="Cancel"
          name="cancel-version"
          hidden={!running}
          onClick={() => link.ask("cancel_version", {})}
        />
        <WordButton
          label="Prove"
          name="prove-version"
          hidden={!provable}
          data-tip="Compares the files with the manifest, and renders at least one shard again"
          onClick={() => link.ask("prove_version", {})}
        />
      </div>
      {lines.map((line, at) => (
        <p key={at}>{line}</p>
      ))}
      {/* Announced once at the end, not for every batch. */}
      <span class="wb-hidden" role="status">
        {!running && text}
      </span>
    </div>
  );
}

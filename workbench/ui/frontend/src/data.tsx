// Entry of the "data" bundle, the data panel: what each source reads, with counts, sizes, formats
// and the result of the file check.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { DataParameter, DataView as Folder } from "./payloads";
import { WordButton } from "./lib/button";
import { component, type PanelProps } from "./lib/component";
import { download } from "./lib/files";
import { focusedElement } from "./lib/focus";
import { useField, useRootData } from "./lib/hooks";
import { Icon } from "./lib/icons";
import { Notice } from "./lib/notice";
import { thousands } from "./lib/number";
import { CountChart } from "./data/charts";
import { FolderBrowser } from "./data/folderBrowser";
import css from "./styles/data.css";

const NO_REPORT = { number: 0, text: "" };

function Data({ link, root }: PanelProps<"data">) {
  const folder = useField(link, "summary", {});
  const path = useRef<HTMLInputElement>(null);
  const wrong = folder.refused || folder.error || "";
  useRootData(root, "count", String(folder.count ?? 0));
  useReport(link);
  useLayoutEffect(() => {
    const field = path.current!;
    // Text being typed, and a refused path, stay.
    if (!field.value || (focusedElement(field) !== field && !folder.refused)) field.value = folder.root ?? "";
  }, [folder]);
  const open = (event: Event): void => {
    event.preventDefault();
    const typed = path.current!.value.trim();
    if (typed) link.ask("open_folder", { path: typed });
    else path.current!.focus();
  };
  return (
    <>
      <div class="wb-controls-row">
        <div class="wb-controls">
          <form class="wb-data-open" onSubmit={open}>
            <input
              ref={path}
              class="wb-val"
              type="text"
              spellcheck={false}
              placeholder="folder of images, or list of files (.txt, .csv)"
              aria-label="Folder of images or list of files"
              aria-invalid={wrong ? true : undefined}
              data-wb="folder"
            />
            <button class="wb-btn" type="submit" data-wb="open">
              Open
            </button>
            <FolderBrowser
              button={{
                class: "wb-quiet",
                "data-wb": "browse",
                children: [<Icon key="folder" name="folder" size={13} />, " Browse"],
              }}
              folders={useField(link, "folders", {})}
              recent={useField(link, "recent_folders", [])}
              data={{ path: folder.root ?? "", refused: wrong, outside: folder.outside ?? "" }}
              list={() => link.ask("list_folders", {})}
              look={(to) => link.ask("browse", { path: to })}
              open={(to) => link.ask("open_folder", { path: to })}
              confirm={(to) => link.ask("add_root", { path: to })}
            />
          </form>
          <span class="wb-grow" />
          {!folder.counted && Boolean(folder.count) && (
            <button class="wb-quiet" type="button" data-wb="counting" onClick={() => link.ask("count", {})}>
              {folder.counting ? "Stop counting" : "Resume counting"}
            </button>
          )}
          <Verdict {...folder} />
          <button
            class="wb-quiet"
            type="button"
            data-wb="check"
            disabled={!folder.count}
            onClick={() => link.ask("check", {})}
          >
            {folder.checking ? "Stop check" : "Check files"}
          </button>
          {folder.checked && Boolean((folder.bad ?? 0) + (folder.damaged ?? 0)) && (
            <button class="wb-btn" type="button" data-wb="use-good" onClick={() => link.ask("use_good", {})}>
              Use only good files
            </button>
          )}
          {folder.checked && (
            <WordButton
              label="Download report"
              name="report"
              icon="download"
              onClick={() => link.ask("report", {})}
            />
          )}
        </div>
        <Notice name="error" kind="error" role="alert" words={wrong}>
          {folder.outside && (
            <button
              class="wb-btn"
              type="button"
              data-wb="confirm-folder"
              onClick={() => link.ask("add_root", { path: folder.outside ?? "" })}
            >
              Open anyway
            </button>
          )}
        </Notice>
      </div>
      <div class="wb-data-body">
        <AnnotationFaults {...folder} />
        <PillowOnly {...folder} open={(path) => link.ask("open_folder", { path })} />
        <AlternativeSources
          {...folder}
          open={(path) => (path ? link.ask("open_folder", { path }) : link.ask("give_masks", {}))}
        />
        <Inputs parameters={folder.parameters ?? []} />
        <Facts {...folder} />
        <Charts {...{ link, folder }} />
        <Findings findings={folder.findings ?? []} />
      </div>
    </>
  );
}

/** Offer each new report as a download, except one made for an earlier page. */
function useReport(link: PanelProps<"data">["link"]): void {
  const { number = 0, text = "" } = useField(link, "report", NO_REPORT);
  const offered = useRef(number);
  useLayoutEffect(() => {
    if (number === offered.current) return;
    offered.current = number;
    if (number) download("check.html", text, "text/html");
  }, [number, text]);
}

function Verdict({ checked, bad = 0, damaged = 0, count = 0 }: Partial<Folder>) {
  const found = bad + damaged > 0;
  return (
    <p class="wb-checked" role="status" data-wb="checked" data-bad={found || undefined}>
      {checked && <Icon name={found ? "warn" : "check"} size={14} />}
      {checked && verdictOf(bad, damaged, count)}
    </p>
  );
}

function verdictOf(bad: number, damaged: number, count: number): string {
  if (!bad && !damaged) return `all ${thousands(count)} files can be decoded`;
  const found = [bad && `${thousands(bad)} bad`, damaged && `${thousands(damaged)} damaged`];
  return `of ${thousands(count)} files ${found.filter(Boolean).join(", ")}`;
}

function Inputs({ parameters }: { parameters: DataParameter[] }) {
  const shown = parameters.length > 1 || parameters.some(({ error }) => error);
  return (
    <ul class="wb-data-inputs" aria-label="Data of each source" data-wb="inputs" hidden={!shown}>
      {parameters.map(({ name, about, reads, error }) => (
        <li key={name} data-parameter={name}>
          <b>{name}</b>
          <small>{about}</small>
          {error ? (
            <span class="wb-input-error">
              <Icon name="warn" size={13} />
              {error}
            </span>
          ) : (
            <span>{reads}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Format a size as `12,346 MB`, or below one megabyte as `57 kB`. */
function bytesText(megabytes: number): string {
  return megabytes < 1 ? `${thousands(Math.max(1, megabytes * 1000))} kB` : `${thousands(megabytes)} MB`;
}

function Facts(folder: Partial<Folder>) {
  const { kind = "", noun = "image", count, counted, provisional, megabytes, sizes = "", no_classes = "" } = folder;
  const facts: [string, string][] = [
    ["kind", kind],
    [`${noun}s`, count === undefined ? "" : `${thousands(count)}${counted ? "" : "+"}`],
    ["pictures", provisional ? "provisional: first samples only, until the index is built" : ""],
    ["size", megabytes ? bytesText(megabytes) : ""],
    ["pixels", sizes],
    ["classes", no_classes],
  ];
  return (
    <dl class="wb-facts" data-wb="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

interface PillowOnlyProps extends Partial<Folder> {
  open: (path: string) => void;
}

/** Samples with missing or invalid annotations. */
function AnnotationFaults({ at_fault = "" }: Partial<Folder>) {
  return (
    <p class="wb-passed-over" role="status" data-wb="at-fault" hidden={!at_fault}>
      <Icon name="warn" size={14} />
      <span>{at_fault}</span>
    </p>
  );
}

/** Files that are not read, and a button to read formats with Pillow that DALI does not support. */
function PillowOnly({ pillow_only = "", read_all = "", open }: PillowOnlyProps) {
  return (
    <p class="wb-passed-over" role="status" data-wb="passed-over" hidden={!pillow_only}>
      <Icon name="warn" size={14} />
      <span>{pillow_only}</span>
      {read_all && (
        <button class="wb-btn" type="button" data-wb="with-pillow" onClick={() => open(read_all)}>
          Read them with Pillow
        </button>
      )}
    </p>
  );
}

/** Annotations that the graph does not read, and buttons to read them. */
function AlternativeSources({ also = [], open }: PillowOnlyProps) {
  return (
    <p class="wb-passed-over" role="status" data-wb="also" hidden={!also.length}>
      The data contains more than the graph reads:
      {also.map(({ place, words }) => (
        <button key={place} class="wb-quiet" type="button" onClick={() => open(place)}>
          {words}
        </button>
      ))}
    </p>
  );
}

interface ChartsProps {
  link: PanelProps<"data">["link"];
  folder: Partial<Folder>;
}

function Charts({ link, folder }: ChartsProps) {
  const chosen = useField(link, "shown_classes", []);
  const { classes = [], class_counts = [], sampled_shares = [], counted_by = "", size_counts = {}, formats = {} } = folder;
  const rows = (counts: Record<string, number>) =>
    Object.entries(counts).map(([name, count]) => ({ name, count }));
  const sizes = rows(size_counts);
  const found = rows(formats);
  const exact = sizes.every(({ name }) => name.includes("×"));
  const sum = (shown: typeof sizes) => shown.reduce((all, { count }) => all + count, 0);
  const of = (shown: typeof sizes) =>
    sum(shown) < (folder.count ?? 0) ? `, of ${thousands(sum(shown))} ${folder.noun ?? "image"}s` : "";
  const by = sampled_shares.length ? ": share of the data and with the sampler" : counted_by && `: ${counted_by}`;
  // Annotations may have classes although no sample label is read.
  const labelled = !counted_by || classes.length > 0;
  return (
    <div class="wb-charts">
      <CountChart
        title={`${thousands(class_counts.length)} ${class_counts.length === 1 ? "class" : "classes"}${by}`}
        name="classes"
        rows={class_counts}
        sampled={sampled_shares}
        chosen={chosen}
        {...(labelled && { choose: (name: string) => link.ask("show_class", { name }) })}
      />
      <CountChart
        title={exact ? `Width × height${of(sizes)}` : `Longer side in pixels${of(sizes)}`}
        name="size-counts"
        rows={sizes}
      />
      <CountChart title={`Formats${of(found)}`} name="formats" rows={found} />
    </div>
  );
}

function Findings({ findings }: { findings: Folder["findings"] }) {
  return (
    <table class="wb-files" data-wb="findings" hidden={!findings.length}>
      <thead>
        <tr>
          {["File", "Level", "Found", "Reason"].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {findings.map(({ file, level, kind, reason }) => (
          <tr key={`${file} ${kind}`} data-level={level}>
            <td>{file}</td>
            <td>{level}</td>
            <td>{kind}</td>
            <td>{reason}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export default component("data", css, Data, "wb-panel");

// Title, data, device switch, undo and redo, state of the worker, files.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Faults } from "./bar/faults";
import { History } from "./bar/history";
import { acceptDroppedFiles, type DroppedGraph } from "./bar/importGraph";
import { ImportReport } from "./bar/importReport";
import { insertCell } from "./bar/notebookCell";
import { OpenGraph } from "./bar/openGraph";
import { RecentWork } from "./bar/recentWork";
import { RecipeGallery } from "./bar/recipeGallery";
import { Restored } from "./bar/restored";
import { PathButton } from "./bar/saveFiles";
import { Share } from "./bar/share";
import { attachTab, followAddress } from "./bar/tabSession";
import { Title } from "./bar/title";
import { FolderBrowser } from "./data/folderBrowser";
import { component, type PanelProps } from "./lib/component";
import { WordButton } from "./lib/button";
import { copyText, download } from "./lib/files";
import { isPage } from "./lib/fullPage";
import { useChange, useField, useOffline } from "./lib/hooks";
import { Icon } from "./lib/icons";
import { chord, keyScope, undoKey } from "./lib/keyboard";
import type { Link } from "./lib/link";
import { arrangeScreen } from "./lib/screen";
import { useQuestion } from "./lib/overwriteQuestion";
import { Menu, Popover } from "./lib/popover";
import { Segmented } from "./lib/segmented";
import { TargetMenu } from "./lib/targetMenu";
import css from "./styles/bar.css";

const NO_QUESTION = { number: 0, do: "", path: "", message: "" };
const NO_PICTURE = new ArrayBuffer(0);

function Bar({ link, root }: PanelProps<"bar">) {
  const away = useOffline(link);
  const message = useField(link, "message", "");
  const [said, say] = useState(message);
  useChange(() => say(message), [message]);
  const incoming = useMemo<DroppedGraph>(
    () => ({
      text: (content, file) => link.ask("open", { text: content, file }),
      picture: (data) => link.ask("open_picture", { data }),
      refuse: say,
    }),
    [link],
  );
  const opening = useRef<HTMLDivElement>(null);
  const saving = useRef<HTMLDivElement>(null);
  const folders = useRef<HTMLDivElement>(null);
  usePage({ link, root }, incoming, () => saving.current!.showPopover());
  useShown(link);
  useLayoutEffect(() => arrangeScreen(root), [root]);
  const status = useField(link, "status", {});
  const faults = useField(link, "faults", []);
  const canUndo = useField(link, "can_undo", false);
  const canRedo = useField(link, "can_redo", false);
  return (
    <>
      <div class="wb-bar-row" role="toolbar" aria-label="Workbench">
        <Title name={useField(link, "title", "")} rename={(name) => link.ask("title", { name })} />
        <FolderBrowser
          handle={folders}
          button={folderButton(useField(link, "folder", ""))}
          folders={useField(link, "folders", {})}
          recent={useField(link, "recent_folders", [])}
          data={useField(link, "data", {})}
          list={() => link.ask("list_folders", {})}
          look={(path) => link.ask("browse", { path })}
          open={(path) => link.ask("open_folder", { path })}
          confirm={(path) => link.ask("add_root", { path })}
        />
        <UnreadAnnotations link={link} />
        <Segmented
          label="Decoding device"
          choices={useField(link, "devices", [])}
          chosen={useField(link, "device", "cpu")}
          choose={(id) => link.set("device", id === "mixed" ? "mixed" : "cpu")}
        />
        <span class="wb-bar-undo wb-reveals">
          <Undo
            label="Undo"
            step={useField(link, "undo_label", "")}
            keys="Ctrl+Z"
            disabled={away || !canUndo}
            run={() => link.ask("undo", {})}
          />
          <Undo
            label="Redo"
            step={useField(link, "redo_label", "")}
            keys="Ctrl+Shift+Z"
            disabled={away || !canRedo}
            run={() => link.ask("redo", {})}
          />
          <History
            steps={useField(link, "history", [])}
            disabled={away || !(canUndo || canRedo)}
            look={(on) => link.set("history_in_view", on)}
            goTo={(step) => link.ask("go_to", { step })}
          />
        </span>
        <ImportReport
          entry={useField(link, "import_report", {})}
          select={(node) => link.ask("select", { node })}
          dismiss={() => link.ask("dismiss_report", {})}
        />
        <Message
          words={said}
          close={() => {
            say("");
            link.ask("dismiss", {}); // so that the same message is shown again
          }}
        />
        <Faults
          status={away ? { state: "dead", text: "offline" } : status}
          faults={away ? [] : faults}
          select={(node) => link.ask("select", { node })}
          fix={({ node, arg }, fix) => link.ask("fix", { node, arg, fix })}
        />
        <span class="wb-bar-files">
          <RecipeGallery
            recipes={useField(link, "recipes", [])}
            choose={(name) => link.ask("recipe", { name })}
            startEmpty={() => link.ask("new", {})}
          />
          <OpenGraph into={incoming} handle={opening} opening={() => link.ask("list_recent", {})}>
            <RecentWork
              entries={useField(link, "recent", [])}
              choose={(owner) => {
                opening.current!.hidePopover();
                link.ask("open_recent", { owner });
              }}
            />
          </OpenGraph>
          <Files link={link} root={root} saving={saving} say={say} />
        </span>
      </div>
      <Restored
        entry={useField(link, "restored", {})}
        startAfresh={() => link.ask("start_afresh", {})}
        applyKept={() => link.ask("apply_kept", {})}
        openShared={() => link.ask("open_shared_data", {})}
        choose={() => folders.current!.showPopover()}
        dismiss={() => link.ask("dismiss_restored", {})}
      />
    </>
  );
}

/** Annotations in the data that the graph does not read. */
function UnreadAnnotations({ link }: { link: Link<"bar"> }) {
  const unread = useField(link, "unread", []);
  const pop = useRef<HTMLDivElement>(null);
  const what = unread.some(({ place }) => place) ? "annotations" : "masks";
  const read = (place: string): void => {
    pop.current?.hidePopover();
    if (place) link.ask("open_folder", { path: place });
    else link.ask("give_masks", {});
  };
  const tip = `The data contains ${what} that the graph does not read`;
  const chip = { class: "wb-chip", "data-wb": "unread", "data-tip": tip, children: `+ ${what}` };
  if (!unread.length) return null;
  if (what === "masks") return <button type="button" {...chip} onClick={() => read("")} />;
  return (
    <Popover handle={pop} label={tip} role="menu" button={chip}>
      <Menu>
        {unread.map(({ place, words }) => (
          <button key={place} type="button" role="menuitem" onClick={() => read(place)}>
            {words}
          </button>
        ))}
      </Menu>
    </Popover>
  );
}

/** Button with the name of the data, which opens other data. */
function folderButton(words: string) {
  const at = words.lastIndexOf(" · ");
  return {
    class: "wb-chip wb-bar-folder",
    "data-wb": "folder",
    "data-tip": `${words}\n\nOpen another folder`,
    "aria-label": `${words}, open another folder`,
    hidden: !words,
    children: [
      <Icon key="icon" name="folder" size={13} />,
      <span key="words">
        <span>{at < 0 ? words : words.slice(0, at)}</span>
        <span class="wb-bar-count">{at < 0 ? "" : words.slice(at)}</span>
      </span>,
    ],
  };
}

interface UndoProps {
  label: "Undo" | "Redo";
  /** Label of the edit to undo or redo. */
  step: string;
  keys: string;
  disabled: boolean;
  run: () => void;
}

function Undo({ label, step, keys, disabled, run }: UndoProps) {
  const name = label === "Undo" ? "undo" : "redo";
  const words = step ? `${label}: ${step}` : label;
  return (
    <button
      class="wb-ico"
      type="button"
      aria-label={words}
      data-wb={name}
      data-tip={`${words} (${keys})`}
      disabled={disabled}
      onClick={run}
    >
      <Icon name={name} size={17} />
    </button>
  );
}

/** Matches a shell command in a message. */
const COMMAND = /`(workbench [^`]+)`/;
/** Matches a command at the end of a message, which is shown only as a button. */
const LAST_COMMAND = /`workbench [^`]+`$/;

function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <span class="wb-bar-command">
      <code data-wb="command">{text}</code>
      <WordButton
        label={copied ? "Copied" : "Copy"}
        name="copy-command"
        icon="copy"
        onClick={() => void copyText(text).then(setCopied)}
      />
    </span>
  );
}

/** Message in the bar, or over the page below the bar if there is no room, until it is closed. */
function Message({ words, close }: { words: string; close: () => void }) {
  const message = useRef<HTMLSpanElement>(null);
  const command = COMMAND.exec(words)?.[1] ?? "";
  const [long, setLong] = useState(false);
  const fit = (): void => {
    const { scrollWidth, clientWidth } = message.current!;
    setLong(scrollWidth > clientWidth || command !== "");
  };
  useLayoutEffect(fit, [words]);
  useLayoutEffect(() => {
    const resized = new ResizeObserver(fit);
    resized.observe(message.current!);
    return () => resized.disconnect();
  }, []);
  return (
    <>
      <span
        ref={message}
        class="wb-bar-message"
        role="status"
        aria-live="polite"
        data-wb="message"
        data-long={long || undefined}
      >
        {words}
      </span>
      <p class="wb-notice wb-bar-long" data-wb="long-message" hidden={!long || !words}>
        <span>
          {words.replace(LAST_COMMAND, "").replaceAll("`", "")}
          {command && <Command key={command} text={command} />}
        </span>
        <button class="wb-ico" type="button" aria-label="Close the message" onClick={close}>
          <Icon name="close" size={13} />
        </button>
      </p>
    </>
  );
}

interface FilesProps extends PanelProps<"bar"> {
  saving: { current: HTMLDivElement | null };
  say: (words: string) => void;
}

/** Save, share, and the export targets. */
function Files({ link, root, saving, say }: FilesProps) {
  const shipping = useRef<HTMLDivElement>(null);
  const [question, close] = useQuestion(useField(link, "overwrite", NO_QUESTION));
  const cell = useField(link, "cell", {});
  const describing = useRef(false);
  useChange(() => {
    if (!describing.current || !cell.source) return;
    describing.current = false;
    void insertCell(link.host.widget_manager, cell).then(say);
  }, [cell]);
  const graph = useField(link, "graph_number", 0);
  const folder = (): string => link.get("save_folder", "");
  const stem = (): string =>
    link
      .get("title", "")
      .slice(0, 80)
      .replace(/[^\w.-]+/g, "-")
      .replace(/^[-.]+|-+$/g, "") || "graph";
  return (
    <>
      <PathButton
        label="Save"
        field="File name on the computer that runs the workbench"
        folder={folder}
        path={() => `${stem()}.json`}
        graph={graph}
        save={(path, overwrite) => link.ask("save", { path, overwrite })}
        download={(name) => {
          download(name, link.get("saved", ""), "application/json");
          say(`Downloaded ${name}.`);
        }}
        question={question}
        closeQuestion={close}
        handle={saving}
      >
        <button
          class="wb-quiet wb-bar-cell"
          type="button"
          hidden={cell.after === undefined}
          data-wb="to-cell"
          data-tip="Insert a cell below with code that shows this graph"
          onClick={() => {
            saving.current!.hidePopover();
            describing.current = link.ask("describe_cell", {});
          }}
        >
          Insert as a cell
        </button>
      </PathButton>
      <Popover
        handle={shipping}
        label="Export"
        align="end"
        opening={() => link.ask("find_refusals", {})}
        button={{ class: "wb-btn", "data-wb": "export", children: "Export" }}
      >
        <TargetMenu
          targets={useField(link, "targets", [])}
          chosen={useField(link, "target", "script")}
          refused={useField(link, "refusals", {})}
          choose={(target) => {
            shipping.current!.hidePopover();
            link.ask("export", { target });
          }}
        />
        <Share
          picture={useField(link, "shared", NO_PICTURE)}
          ask={() => link.ask("share", {})}
          graph={() => link.get("saved", "")}
          data={() => link.get("data", {}).places ?? {}}
          stem={stem}
          linked={isPage(root)}
        />
      </Popover>
    </>
  );
}

/** Handle keyboard shortcuts, drops and address changes. */
function usePage({ link, root }: PanelProps<"bar">, incoming: DroppedGraph, save: () => void): void {
  useLayoutEffect(() => {
    const onKey = (event: Event): void => {
      const key = event as KeyboardEvent;
      if (key.defaultPrevented || undoKey(key, (action) => link.ask(action, {}))) return;
      if (chord(key) !== "Ctrl+S") return;
      key.preventDefault();
      save();
    };
    const scope = keyScope(root);
    scope.addEventListener("keydown", onKey);
    const ends = [() => scope.removeEventListener("keydown", onKey), acceptDroppedFiles(root, incoming)];
    if (isPage(root)) {
      const broken = "The link does not contain a valid graph. Copy the complete link and try again.";
      attachTab(link);
      ends.push(followAddress((text) => incoming.text(text, ""), () => incoming.refuse(broken)));
    }
    return () => ends.forEach((end) => end());
  }, [link, root, incoming]);
}

/** Report to Python that an opened graph was rendered, after the canvas has rendered it. */
function useShown(link: Link<"bar">): void {
  const opened = useField(link, "opened", 0);
  useLayoutEffect(() => {
    if (!opened) return;
    requestAnimationFrame(() =>
      requestAnimationFrame(() => setTimeout(() => link.ask("shown", { opened }))),
    );
  }, [opened]);
}

export default component("bar", css, Bar);

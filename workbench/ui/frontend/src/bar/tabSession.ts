// What only the web app does: a graph in the page's address, and the session of the page before.

import { takePending } from "../lib/connection";
import { unpack } from "../lib/urlCompression";
import type { Link } from "../lib/link";
import { FRAGMENT } from "./share";

const TAB = "dali-workbench-tab";

/** Opens the graph that the address carries, now and when it changes; then clears the address. */
export function followAddress(open: (text: string) => void, refuse: () => void): () => void {
  const read = (): void => {
    if (!location.hash.startsWith(FRAGMENT)) return;
    const packed = location.hash.slice(FRAGMENT.length);
    // So that loading the page anew brings back the edits, not the graph as it was sent.
    history.replaceState(history.state, "", location.pathname + location.search);
    void unpack(packed).then((content) => (content === null ? refuse() : open(content)));
  };
  window.addEventListener("hashchange", read);
  read();
  return () => window.removeEventListener("hashchange", read);
}

/** Says which tab this is, with what the page before could not send; remembers what it is called. */
export function attachTab(link: Link<"bar">): void {
  link.ask("attach", { tab: remembered(), kept: takePending() });
  link.watch(["tab"], () => {
    const tab = link.get("tab", "");
    if (tab) remember(tab);
  });
}

function remembered(): string {
  try {
    return sessionStorage.getItem(TAB) ?? "";
  } catch {
    return ""; // a browser that keeps nothing for this page
  }
}

function remember(tab: string): void {
  try {
    sessionStorage.setItem(TAB, tab);
  } catch {
    // As above: the session can be opened from the list of recent work.
  }
}

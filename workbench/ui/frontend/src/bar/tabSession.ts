// Web app only: a graph in the page's address, and the session of the page before a reload.

import { takePendingChanges } from "../lib/connection";
import { unpack } from "../lib/urlCompression";
import type { Link } from "../lib/link";
import { FRAGMENT } from "./share";

const TAB = "dali-workbench-tab";

/** Open the graph in the page's address, now and when the address changes; then clear it. */
export function followAddress(open: (text: string) => void, refuse: () => void): () => void {
  const read = (): void => {
    if (!location.hash.startsWith(FRAGMENT)) return;
    const packed = location.hash.slice(FRAGMENT.length);
    // A reload then restores the edits instead of the shared graph.
    history.replaceState(history.state, "", location.pathname + location.search);
    void unpack(packed).then((content) => (content === null ? refuse() : open(content)));
  };
  window.addEventListener("hashchange", read);
  read();
  return () => window.removeEventListener("hashchange", read);
}

/** Send this tab's id and unsent edits to Python, and store the id that Python returns. */
export function attachTab(link: Link<"bar">): void {
  link.ask("attach", { tab: storedSession(), kept: takePendingChanges() });
  link.watch(["tab"], () => {
    const tab = link.get("tab", "");
    if (tab) storeSession(tab);
  });
}

function storedSession(): string {
  try {
    return sessionStorage.getItem(TAB) ?? "";
  } catch {
    return ""; // the browser stores nothing for this page
  }
}

function storeSession(tab: string): void {
  try {
    sessionStorage.setItem(TAB, tab);
  } catch {
    // Without storage, the session can be opened from the list of recent work.
  }
}

// What only the web app does: a graph in the page's address, and the edits of the page before.

import { unpack } from "../lib/urlCompression";
import { FRAGMENT } from "./share";

const SESSION = "dali-workbench-session";

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

/** Remembers, for this tab, in which file edits are kept; asks for that of the page before. */
export function followSession(session: string, resume: (session: string) => void): void {
  if (!session) return;
  try {
    const before = sessionStorage.getItem(SESSION);
    sessionStorage.setItem(SESSION, session);
    if (before && before !== session) resume(before);
  } catch {
    // A browser that keeps nothing for this page: the newest edits are there all the same.
  }
}

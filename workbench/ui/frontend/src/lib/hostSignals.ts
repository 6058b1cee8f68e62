// Connection state reported by the hosts: Bokeh's web socket and JupyterLab's kernel.

import type { Connection } from "./connection";
import type { Host } from "./link";

interface Signal<T> {
  connect(slot: (sender: unknown, value: T) => void): void;
  disconnect(slot: (sender: unknown, value: T) => void): void;
}

interface Kernel {
  statusChanged: Signal<string>;
  connectionStatusChanged: Signal<string>;
  connectionStatus: string;
  isDisposed: boolean;
}

interface BokehDocument {
  on_event(name: string, callback: () => void): void;
}

const SERVER_LOST =
  "The server does not respond. The graph is read-only until it reconnects automatically; values that you set are sent afterwards.";
const LAB_LOST =
  "JupyterLab has lost its server. The graph is read-only until it reconnects; values that you set are sent afterwards.";
const RESTARTED = "The kernel was restarted. Run the cell again.";
const ENDED = "The kernel has ended. Start it again, then run the cell again.";
const SILENT =
  "Python does not respond. The graph is read-only until it does; values that you set are sent afterwards.";
// Jupyter checks its kernels every 3 s: a stopped kernel is not noticed earlier.
const KERNEL_SILENT = `${SILENT} If the kernel was restarted, run the cell again.`;
/** Milliseconds between checks whether the server is reachable again. */
const PROBE = 1000;
/** Status of a proxy whose server is not reachable. */
const BAD_GATEWAY = 502;

/** Return the message to show while Python does not respond for an unknown reason. */
export function silenceOf(host: Host): string {
  return kernelOf(host) ? KERNEL_SILENT : SILENT;
}

function kernelOf(host: Host): Kernel | null | undefined {
  return (host.widget_manager as { kernel?: Kernel | null } | undefined)?.kernel;
}

/** Report the host's state to `connection`. Returns a function that stops this. */
export function followHost(connection: Connection, host: Host): () => void {
  const kernel = kernelOf(host);
  if (kernel) return followKernel(connection, kernel);
  const bokeh = (window as unknown as { Bokeh?: { documents?: BokehDocument[] } }).Bokeh;
  return bokeh?.documents ? followSocket(connection, bokeh.documents) : () => undefined;
}

function followKernel(connection: Connection, kernel: Kernel): () => void {
  const status = (_: unknown, now: string): void => {
    if (now === "restarting" || now === "autorestarting") connection.lose("gone", RESTARTED);
    else if (now === "dead" || now === "terminating") connection.lose("gone", ENDED);
  };
  const connected = (_: unknown, now: string): void => {
    if (kernel.isDisposed) connection.lose("gone", ENDED);
    else if (now !== "connected") connection.lose("lost", LAB_LOST);
  };
  kernel.statusChanged.connect(status);
  kernel.connectionStatusChanged.connect(connected);
  return () => {
    kernel.statusChanged.disconnect(status);
    kernel.connectionStatusChanged.disconnect(connected);
  };
}

function followSocket(connection: Connection, documents: BokehDocument[]): () => void {
  let probing: number | undefined;
  const probe = async (): Promise<void> => {
    try {
      const { status } = await fetch(location.pathname + location.search, {
        method: "HEAD",
        cache: "no-store",
      });
      if (status < BAD_GATEWAY) return connection.reload();
    } catch {
      // Not back yet.
    }
    probing = window.setTimeout(() => void probe(), PROBE);
  };
  let ended = false;
  for (const document of documents)
    document.on_event("connection_lost", () => {
      if (ended) return;
      connection.lose("lost", SERVER_LOST);
      probing ??= window.setTimeout(() => void probe(), PROBE);
    });
  return () => {
    ended = true;
    clearTimeout(probing);
  };
}

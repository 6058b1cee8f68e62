// Share the graph: a picture that contains it, and in the web app a link.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Bytes } from "../payloads";
import { pack } from "../lib/urlCompression";
import { copyText, download } from "../lib/files";
import { Icon } from "../lib/icons";
import { Popover } from "../lib/popover";

interface Props {
  picture: Bytes;
  /** Requests the picture. */
  ask: () => void;
  /** Graph file as text. */
  graph: () => string;
  /** Data location of each parameter. */
  data: () => Record<string, string>;
  stem: () => string;
  /** Whether the link may contain the graph. */
  linked: boolean;
}

export const FRAGMENT = "#graph=";
const LONG = 32_000;
const RENDERING_TEXT = "Rendering the picture";
const LINK_NOTE = "To open it, others need this app and its token, which is in the link that the app printed.";
const PICTURE_NOTE = "It contains the graph: drop it on a workbench to open it.";

export function Share({ picture, ask, graph, stem, data, linked }: Props) {
  const [words, say] = useState("");
  const blob = useMemo(
    () => (picture.byteLength ? new Blob([picture as BlobPart], { type: "image/png" }) : null),
    [picture],
  );
  const [address, setAddress] = useState("");
  useLayoutEffect(() => {
    if (!blob) return setAddress("");
    const url = URL.createObjectURL(blob);
    setAddress(url);
    say((said) => (said === RENDERING_TEXT ? PICTURE_NOTE : said));
    return () => URL.revokeObjectURL(url);
  }, [blob]);
  const opening = (): void => {
    say(blob ? PICTURE_NOTE : RENDERING_TEXT);
    if (!blob) ask();
  };
  const copyLink = async (): Promise<void> => {
    // Session part of the file (session_file.py): the data to open with the graph.
    const content = { ...JSON.parse(graph()), session: { data: data() } };
    const packed = await pack(JSON.stringify(content));
    const link = `${location.href.split("#")[0]}${FRAGMENT}${packed}`;
    const copied = await copyText(link);
    const long = link.length > LONG ? " It is long, and some programs truncate long links; the PNG is safer." : "";
    say(copied ? `Link copied. It contains the graph and the paths of its data. ${LINK_NOTE}${long}` : "The link could not be copied.");
  };
  return (
    <Popover
      label="Share the graph"
      opening={opening}
      button={{ class: "wb-link wb-bar-share-open", "data-wb": "share", children: "Share a picture or a link" }}
    >
      <div class="wb-bar-share">
        <img
          alt="The contact sheet to share"
          data-wb="share-picture"
          src={address || undefined}
          hidden={!blob}
        />
        <p
          class="wb-bar-drawing"
          role="status"
          data-wb="share-note"
          data-busy={words === RENDERING_TEXT ? "" : undefined}
        >
          {words}
        </p>
        <div class="wb-bar-ways">
          <button
            class="wb-btn"
            type="button"
            data-wb="share-png"
            disabled={!blob}
            onClick={() => {
              download(`${stem()}.png`, blob!, "image/png");
              say(`Downloaded ${stem()}.png. ${PICTURE_NOTE}`);
            }}
          >
            <Icon name="download" size={14} />
            Download PNG
          </button>
          <button
            class="wb-quiet"
            type="button"
            autofocus
            data-wb="share-link"
            hidden={!linked}
            onClick={() => void copyLink()}
          >
            <Icon name="link" size={14} />
            Copy link
          </button>
        </div>
      </div>
    </Popover>
  );
}

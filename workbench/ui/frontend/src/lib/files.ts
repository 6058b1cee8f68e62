// Downloads and the clipboard.

export function download(name: string, content: BlobPart, mime = "text/plain"): void {
  const url = URL.createObjectURL(new Blob([content], { type: mime }));
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: name.split("/").pop() ?? name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(url);
}

/** Copy text; return false on failure. Pages not from https or localhost have no clipboard. */
export async function copyText(content: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(content);
    return true;
  } catch {
    return copyBySelection(content);
  }
}

function copyBySelection(content: string): boolean {
  const area = document.createElement("textarea");
  area.ariaHidden = "true";
  area.value = content;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

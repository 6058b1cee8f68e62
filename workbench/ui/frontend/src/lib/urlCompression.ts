// Compressed text for URLs: raw DEFLATE (RFC 1951), then base64url (RFC 4648, 5).

const LONGEST = 16_000_000;

export async function pack(content: string): Promise<string> {
  const packed = new Blob([content]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  return base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Return the unpacked text; null if it is invalid or too long for a graph. */
export async function unpack(packed: string): Promise<string | null> {
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const reader = stream.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
    let content = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return content;
      content += value;
      if (content.length > LONGEST) {
        await reader.cancel();
        return null;
      }
    }
  } catch {
    return null;
  }
}

export function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(binary);
}

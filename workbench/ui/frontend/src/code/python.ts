// Minimal Python tokenizer for syntax colours: comments, strings, keywords, numbers, decorators.

export type Kind = "comment" | "string" | "keyword" | "number" | "name";
export interface Token {
  kind: Kind | "";
  text: string;
}

const KEYWORDS =
  "and as assert async await break class continue def del elif else except False finally for from " +
  "global if import in is lambda None nonlocal not or pass raise return True try while with yield";
const KEYWORD = new Set(KEYWORDS.split(" "));

const TOKEN =
  /(?<comment>#[^\n]*)|(?<string>[rRbBfFuU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|(?<number>\b(?:0[xX][\da-fA-F_]+|\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?)\b)|(?<name>@?[A-Za-z_]\w*)/g;

/** Return the tokens of each line of a script. */
export function tokenise(source: string): Token[][] {
  const lines: Token[][] = [[]];
  const push = (kind: Token["kind"], piece: string): void => {
    piece.split("\n").forEach((text, index) => {
      if (index) lines.push([]);
      if (text) lines.at(-1)?.push({ kind, text });
    });
  };
  let end = 0;
  for (const match of source.matchAll(TOKEN)) {
    push("", source.slice(end, match.index));
    push(kindOf(match), match[0]);
    end = match.index + match[0].length;
  }
  push("", source.slice(end));
  return lines;
}

function kindOf(match: RegExpExecArray): Token["kind"] {
  const { comment, string, number } = match.groups ?? {};
  if (comment) return "comment";
  if (string) return "string";
  if (number) return "number";
  if (match[0].startsWith("@")) return "name";
  return KEYWORD.has(match[0]) ? "keyword" : "";
}

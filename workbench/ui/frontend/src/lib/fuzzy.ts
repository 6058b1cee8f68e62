// Finding by what was meant: whole words first, then parts, then slips of the finger.

/** One text to search in, and how much a hit there is worth. */
export interface Place {
  text: string;
  weight: number;
  /** Prose, in which only whole words and their beginnings count: anything is like something. */
  prose?: boolean;
}

/** Higher is better; 0 is no match. Every word of the query has to be found somewhere. */
export function score(query: string, places: readonly Place[]): number {
  const words = query
    .toLowerCase()
    .split(/[\s_.]+/)
    .filter(Boolean);
  let total = 0;
  for (const word of words) {
    const best = Math.max(
      0,
      ...places.map(({ text, weight, prose }) => weight * hit(word, text, prose)),
    );
    if (best === 0) return 0;
    total += best;
  }
  const whole = places[0]?.text.toLowerCase() ?? "";
  if (whole === query.trim().toLowerCase()) total += 100;
  return words.length ? total / words.length - whole.length / 1000 : 1;
}

/** From 1, the word itself, down to 0. */
function hit(word: string, text: string, prose = false): number {
  const lower = text.toLowerCase();
  const parts = lower.split(/[^a-z0-9]+/);
  if (parts.includes(word)) return 1;
  if (parts.some((part) => part.startsWith(word))) return 0.8;
  if (prose) return 0;
  if (word.length > 1 && lower.includes(word)) return 0.6;
  if (word.length < 3) return 0;
  const slips = Math.min(...parts.map((part) => distance(word, part.slice(0, word.length + 1))));
  const allowed = word.length < 6 ? 1 : 2;
  if (slips <= allowed) return 0.45 - 0.1 * slips;
  return isSubsequence(word, lower) ? 0.15 : 0;
}

function isSubsequence(word: string, text: string): boolean {
  let at = 0;
  for (const letter of text) if (letter === word[at]) at += 1;
  return at === word.length;
}

/** Damerau and Levenshtein's, with adjacent letters swapped counted as one slip. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(
        (rows[i - 1]?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (rows[i - 1]?.[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      }
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}

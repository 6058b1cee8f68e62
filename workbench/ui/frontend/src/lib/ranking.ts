// Search ranking used by all searches. A hit is the exact name, a prefix, a part, or weak: words of
// several texts, a typo, documentation. Items that fit are first, then those that fit with another
// node, then the others. Weak hits are dropped if there are any others.

export interface Searchable {
  name: string;
  label?: string;
  /** Synonyms. */
  synonyms?: readonly string[];
  /** Category, summary and documentation, in which only whole words and prefixes match. */
  prose?: string;
  /** Reason why the item cannot be selected; empty if it can. */
  reason: string;
  /** Fix with which the item can be added; empty if none is needed. */
  fix?: string;
  /** Queries for which the item precedes an item with that exact name. */
  firstFor?: readonly string[];
  /** Higher weights are first among equals. */
  weight?: number;
}

const LEADS = 104;
const EXACT = 100;
const EXACT_OTHER = 96;
/** Score if the query is the last part of a dotted name: `uniform` for `random.uniform`. */
const EXACT_PART = 88;
const PREFIX = 90;
const PREFIX_OTHER = 80;
const PREFIX_PART = 78;
const ALL_WORDS = 70;
const INSIDE = 60;
const SPREAD = 40;
const SLIP = 30;
const PROSE = 20;
/** Maximum penalty for a long name, so that the shorter of two equal hits is first. */
const LONGEST = 1;
/** Minimum length of a query to match parts of words, or words with typos. */
const SHORTEST_FUZZY_QUERY = 3;

/** Return the items that match a query, best first; all items if the query is empty. */
export function rank<T extends Searchable>(items: readonly T[], query: string): T[] {
  const wanted = textOf(query);
  const scored = (hit: Hit): { item: T; score: number }[] =>
    items
      .map((item) => ({ item, score: query.trim() ? scoreOf(wanted, item, hit) : 1 }))
      .filter(({ score }) => score > 0);
  let found = scored(strongHit);
  if (!found.length) found = scored(weakHit); // more expensive to search
  const place = ({ item }: { item: T }): number => (item.reason ? 2 : item.fix ? 1 : 0);
  const weight = ({ item }: { item: T }): number => item.weight ?? 0;
  found.sort((a, b) => place(a) - place(b) || b.score - a.score || weight(b) - weight(a));
  return found.map(({ item }) => item);
}

interface Text {
  /** Text in lower case without separators; the original text if it has no letters, such as `+`. */
  joined: string;
  words: readonly string[];
}

const TEXTS = new Map<string, Text>();

function textOf(text: string): Text {
  let known = TEXTS.get(text);
  if (!known) {
    const words = text
      .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter(Boolean);
    known = { joined: words.join("") || text.trim().toLowerCase(), words };
    if (TEXTS.size > 5000) TEXTS.clear();
    TEXTS.set(text, known);
  }
  return known;
}

/** Return the score of an item; 0 if it does not match. Shorter names have higher scores. */
function scoreOf(query: Text, item: Searchable, hitOf: Hit): number {
  const name = textOf(item.name);
  const others = [item.label ?? "", ...(item.synonyms ?? [])].filter(Boolean).map(textOf);
  const hit = hitOf(query, item, name, others);
  return hit && hit - (LONGEST * Math.min(name.joined.length, 99)) / 100;
}

type Hit = (query: Text, item: Searchable, name: Text, others: readonly Text[]) => number;

function strongHit(query: Text, item: Searchable, name: Text, others: readonly Text[]): number {
  const { joined, words } = query;
  const last = textOf(item.name.slice(item.name.lastIndexOf(".") + 1));
  if (item.firstFor?.some((text) => textOf(text).joined === joined)) return LEADS;
  if (name.joined === joined) return EXACT;
  if (others.some((text) => text.joined === joined)) return EXACT_OTHER;
  if (!words.length) return 0; // a symbol such as `+` must match completely
  if (name.joined.startsWith(joined)) return PREFIX;
  if (last.joined === joined) return EXACT_PART;
  if (others.some((text) => text.joined.startsWith(joined))) return PREFIX_OTHER;
  if (last.joined.startsWith(joined)) return PREFIX_PART;
  if (hasAll(words, name.words)) return ALL_WORDS + 2;
  if (others.some((text) => hasAll(words, text.words))) return ALL_WORDS;
  if (isInside(joined, name)) return INSIDE + 2;
  return others.some((text) => isInside(joined, text)) ? INSIDE : 0;
}

function weakHit({ words }: Text, item: Searchable, name: Text, others: readonly Text[]): number {
  if (!words.length) return 0;
  const spoken = [name, ...others].flatMap((text) => text.words);
  const prose = textOf(item.prose ?? "").words;
  if (hasAll(words, spoken)) return SPREAD;
  for (const [at, text] of [name, { words: spoken }].entries())
    if (words.every((word) => text.words.some((other) => isSlip(word, other)))) return SLIP - at;
  return hasAll(words, [...spoken, ...prose]) ? PROSE : 0;
}

/** Return whether the query is part of one word, or starts with a word. */
function isInside(joined: string, { words }: Text): boolean {
  if (joined.length < SHORTEST_FUZZY_QUERY) return false;
  return words.some((word, at) => word.includes(joined) || words.slice(at).join("").startsWith(joined));
}

/** Return whether each of `words` is a prefix of one of `others`. */
function hasAll(words: readonly string[], others: readonly string[]): boolean {
  return words.every((word) => others.some((other) => other.startsWith(word)));
}

/** Return whether `word` is a prefix of `other` with one typo (two in a long word). */
function isSlip(word: string, other: string): boolean {
  if (other.startsWith(word)) return true;
  if (word.length <= SHORTEST_FUZZY_QUERY) return false;
  const allowed = word.length < 7 ? 1 : 2;
  if (Math.abs(word.length - other.length) > allowed && other.length < word.length) return false;
  const ends = [word.length - 1, word.length, word.length + 1];
  return ends.some((end) => distance(word, other.slice(0, end)) <= allowed);
}

/** Return the Damerau-Levenshtein distance, in which swapped adjacent letters count as one. */
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

/**
 * A user's name as the service writes it: two linked halves. The interface says: "linked: send both
 * together or one is overwritten" (Endpoints, note 2), so a name is always a pair.
 */
export interface NamePair {
  readonly first: string;
  readonly last: string;
}

/** The split is `known` if an editor set the halves, and `guessed` if {@link splitName} made them from a joined name. */
export type NameSplit = 'known' | 'guessed';

/** Matches words of letters below U+0300 with single spaces between them. Such a name is NFC already. */
const plain = /^(?:[!-~\u00a1-\u02ff]+(?: [!-~\u00a1-\u02ff]+)*)?$/;

/** The words of a name in NFC, separated at any white space. */
function words(name: string): readonly string[] {
  return name.normalize('NFC').split(/\s+/u).filter(Boolean);
}

/** The number of words in a name. A guessed split of more than two is not reliable. */
export function countWords(name: string): number {
  return words(name).length;
}

/** True if `left` has fewer words than `whole`, and each of its words is in `whole`. */
export function hasLostWords(left: string, whole: string): boolean {
  const [some, all] = [words(left), words(whole)];
  return some.length < all.length && some.every((word) => all.includes(word));
}

/** The form in which names are compared: Unicode NFC, white space collapsed, ends trimmed. */
export function canonicalName(name: string): string {
  return plain.test(name) ? name : words(name).join(' ');
}

export function joinName(pair: NamePair): string {
  return canonicalName(pair.last === '' ? pair.first : `${pair.first} ${pair.last}`);
}

/**
 * The one rule for splitting a joined name: the last word is the last name, and all words before it are the first name.
 * A single word is a first name with an empty last name. `joinName(splitName(n))` is `canonicalName(n)`.
 */
export function splitName(name: string): NamePair {
  const whole = canonicalName(name);
  const cut = whole.lastIndexOf(' ');
  return cut < 0 ? { first: whole, last: '' } : { first: whole.slice(0, cut), last: whole.slice(cut + 1) };
}

/** Compares both halves byte for byte. */
export function samePair(a: NamePair, b: NamePair): boolean {
  return a.first === b.first && a.last === b.last;
}

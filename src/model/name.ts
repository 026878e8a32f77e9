/**
 * A user's name as the service writes it: two linked halves. The interface says: "linked: send both
 * together or one is overwritten" (Endpoints, note 2), so one half alone is not a value here.
 */
export interface NamePair {
  readonly first: string;
  readonly last: string;
}

/** `known`: somebody set the halves as halves. `guessed`: {@link splitName} cut a joined name in two. */
export type NameSplit = 'known' | 'guessed';

/** Words of letters below U+0300, with one space in between: such a name is NFC, and nothing of it is white space. */
const plain = /^(?:[!-~\u00a1-\u02ff]+(?: [!-~\u00a1-\u02ff]+)*)?$/;

/** The words of a name: NFC, cut at any run of white space. */
function words(name: string): readonly string[] {
  return name.normalize('NFC').split(/\s+/u).filter(Boolean);
}

/** How many words a name has; a guessed split of more than two is not to be trusted by half. */
export function countWords(name: string): number {
  return words(name).length;
}

/** Whether one name is what is left of the other: fewer words, and none that the other has not. */
export function hasLostWords(left: string, whole: string): boolean {
  const [some, all] = [words(left), words(whole)];
  return some.length < all.length && some.every((word) => all.includes(word));
}

/** The form in which two names are compared: Unicode NFC, white space collapsed, ends trimmed. */
export function canonicalName(name: string): string {
  return plain.test(name) ? name : words(name).join(' ');
}

/** The name that a pair reads as. */
export function joinName(pair: NamePair): string {
  return canonicalName(pair.last === '' ? pair.first : `${pair.first} ${pair.last}`);
}

/**
 * The one rule that cuts a joined name in two: the last word is the last name, all before it the first.
 * One word alone is a first name with an empty last name. `joinName(splitName(n))` is `canonicalName(n)`.
 */
export function splitName(name: string): NamePair {
  const whole = canonicalName(name);
  const cut = whole.lastIndexOf(' ');
  return cut < 0 ? { first: whole, last: '' } : { first: whole.slice(0, cut), last: whole.slice(cut + 1) };
}

/** Byte for byte, half by half. */
export function samePair(a: NamePair, b: NamePair): boolean {
  return a.first === b.first && a.last === b.last;
}

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
  return words(name).join(' ');
}

/** The name that a pair reads as. */
export function joinName(pair: NamePair): string {
  return canonicalName(`${pair.first} ${pair.last}`);
}

/**
 * The one rule that cuts a joined name in two: the last word is the last name, all before it the first.
 * One word alone is a first name with an empty last name. `joinName(splitName(n))` is `canonicalName(n)`.
 */
export function splitName(name: string): NamePair {
  const all = words(name);
  if (all.length < 2) return { first: all[0] ?? '', last: '' };
  return { first: all.slice(0, -1).join(' '), last: all.at(-1) ?? '' };
}

/** Byte for byte, half by half. */
export function samePair(a: NamePair, b: NamePair): boolean {
  return a.first === b.first && a.last === b.last;
}

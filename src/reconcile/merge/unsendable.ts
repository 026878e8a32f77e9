/** Values that the service would not take, or that no run could read back. */
import { type Field, flawOf } from '../../model/fields.ts';
import { isTooLong, longestText } from '../../model/longest-text.ts';
import { countWords, hasLostWords, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import type { BaseUser, MirrorUser } from '../../model/user.ts';

/** Why a value cannot be sent, in words; `undefined` if it can. */
export function unsendable(field: Field, mirror: MirrorUser, base: BaseUser): string | undefined {
  const value = field === 'name' ? `${mirror.name.first} ${mirror.name.last}` : mirror[field];
  if (typeof value === 'string' && isTooLong(value))
    return `no run could read more than ${longestText} characters back`;
  return field === 'name' ? unsendableName(mirror, base) : flawOf(field, mirror[field]);
}

function unsendableName(mirror: MirrorUser, base: BaseUser): string | undefined {
  const whole = joinName(mirror.name);
  if (whole === '') return 'the service takes no empty name';
  if (mirror.split === 'known') return undefined;
  const edited: readonly (keyof NamePair)[] = (['first', 'last'] as const).filter(
    (half) => mirror.name[half] !== base.name[half],
  );
  const isCut = countWords(whole) > 2 && samePair(mirror.name, splitName(whole));
  if (isCut && edited.length === 2 && hasLostWords(base.joined, whole))
    return `the split of "${whole}" is a guess: set first_name and last_name, or name_split = 'known'`;
  if (edited.length !== 1 || countWords(base.joined) < 3) return undefined;
  const other = edited[0] === 'first' ? 'last_name' : 'first_name';
  return `the split of "${base.joined}" is a guess: set ${other} too, or name_split = 'known'`;
}

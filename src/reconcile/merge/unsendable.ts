/** Values that the service would not take, or that no run could read back. */
import { stored } from '../../model/canonical.ts';
import { isTooLong, longestText } from '../../model/longest-text.ts';
import { countWords, hasLostWords, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import type { BaseUser, Field, MirrorUser } from '../../model/user.ts';

/** Why a value cannot be sent, in words; `undefined` if it can. */
export function unsendable(field: Field, mirror: MirrorUser, base: BaseUser): string | undefined {
  const texts = {
    name: `${mirror.name.first} ${mirror.name.last}`,
    email: mirror.email,
    phone: mirror.phone,
  };
  if (field !== 'roleId' && isTooLong(texts[field] ?? ''))
    return `no run could read more than ${longestText} characters back`;
  switch (field) {
    case 'name': {
      if (joinName(mirror.name) === '') return 'the service takes no empty name';
      const edited: readonly (keyof NamePair)[] = (['first', 'last'] as const).filter(
        (half) => mirror.name[half] !== base.name[half],
      );
      if (mirror.split === 'known') return undefined;
      const whole = joinName(mirror.name);
      const isCut = countWords(whole) > 2 && samePair(mirror.name, splitName(whole));
      if (isCut && edited.length === 2 && hasLostWords(base.joined, whole))
        return `the split of "${whole}" is a guess: set first_name and last_name, or name_split = 'known'`;
      if (edited.length !== 1 || countWords(base.joined) < 3) return undefined;
      const other = edited[0] === 'first' ? 'last_name' : 'first_name';
      return `the split of "${base.joined}" is a guess: set ${other} too, or name_split = 'known'`;
    }
    case 'email':
      return stored(mirror.email) === null ? 'the service gives no way to remove an email' : undefined;
    case 'roleId':
      return mirror.roleId === null ? 'the service gives no way to remove a role' : undefined;
    case 'phone':
      return stored(mirror.phone) !== null && !/[0-9]/.test(mirror.phone ?? '')
        ? 'the phone number has no digits'
        : undefined;
    default:
      return field satisfies never;
  }
}

/**
 * Finds the user that a row is about, by id, else by email, else by phone:
 *
 * | what the row gives                        | the row is                         |
 * |-------------------------------------------|------------------------------------|
 * | the id of a user in the team              | that user, whatever its email says |
 * | an unknown id                             | unmatched                          |
 * | the email of one user                     | that user                          |
 * | an email that several users have          | ambiguous                          |
 * | no email or an unknown one, and a phone   | matched by phone in the same way,  |
 * |                                           | else by its end                    |
 * | none of these                             | unmatched                          |
 */
import { canonicalEmail, canonicalPhone } from '../../model/canonical.ts';
import { type Id, maxId } from '../../model/id.ts';
import type { BaseUser, MirrorRow } from '../../model/user.ts';
import { nationalEnd, readPhone, withoutDecimals } from './read-phone.ts';
import type { Cells } from './read-values.ts';

export interface TeamUser {
  readonly id: Id;
  readonly mirror: MirrorRow;
  readonly base: BaseUser | undefined;
}

type Match =
  | { readonly user: TeamUser }
  | { readonly kind: 'unmatched' | 'ambiguous'; readonly reason: string };

/** The most users with one address who are named. */
const mostNamed = 10;

function groupUsers(users: readonly TeamUser[], keyOf: (user: TeamUser) => string) {
  return Map.groupBy(
    users.filter((user) => keyOf(user) !== ''),
    keyOf,
  );
}

/** The fewest digits without a country code by which a user is found. */
const shortestEnd = 7;

/** Finds the users with a written phone: with these digits, else with these at the end. */
function createPhoneFinder(users: readonly TeamUser[], country: string | null) {
  const phoneOf = ({ mirror }: TeamUser) => canonicalPhone(mirror.phone);
  const lastOf = (digits: string) => digits.slice(-shortestEnd);
  const byEnd = groupUsers(users, (user) => lastOf(phoneOf(user)));
  return (phone: string): readonly TeamUser[] => {
    const read = readPhone(phone, country);
    const digits = 'digits' in read ? read.digits : canonicalPhone(phone);
    const end = nationalEnd(phone);
    const same = byEnd.get(lastOf(digits))?.filter((user) => phoneOf(user) === digits) ?? [];
    if (same.length > 0 || end.length < shortestEnd) return same;
    return byEnd.get(lastOf(end))?.filter((user) => phoneOf(user).endsWith(end)) ?? [];
  };
}

/**
 * @param users all users of the team
 * @param country the calling code of phones without one
 */
export function createMatcher(users: readonly TeamUser[], country: string | null): (cells: Cells) => Match {
  const byId = new Map(users.map((user) => [user.id, user]));
  const byEmail = groupUsers(users, ({ mirror }) => canonicalEmail(mirror.email));
  const usersWithPhone = createPhoneFinder(users, country);
  const unmatched = (reason: string): Match => ({ kind: 'unmatched', reason });
  const only = (found: readonly TeamUser[] | undefined, what: string): Match | undefined => {
    const [user] = found ?? [];
    if (user === undefined) return undefined;
    if (found?.length === 1) return { user };
    const ids = `${found
      ?.slice(0, mostNamed)
      .map(({ id }) => id)
      .join(', ')}${(found?.length ?? 0) > mostNamed ? ', …' : ''}`;
    return { kind: 'ambiguous', reason: `${what} is that of users ${ids}: give the id` };
  };
  return (cells) => {
    const [id, email, phone] = [withoutDecimals(cells('id')), cells('email'), cells('phone')];
    if (id !== '') {
      if (!/^\d+$/.test(id) || BigInt(id) > maxId) return unmatched(`"${id}" is not an id`);
      const user = byId.get(BigInt(id));
      return user === undefined ? unmatched(`nobody in the team has the id ${id}`) : { user };
    }
    const given = [
      ...(email === '' ? [] : [`the email ${email}`]),
      ...(phone === '' ? [] : [`the phone ${phone}`]),
    ];
    return (
      (email === '' ? undefined : only(byEmail.get(canonicalEmail(email)), `the email ${email}`)) ??
      (phone === '' ? undefined : only(usersWithPhone(phone), `the phone ${phone}`)) ??
      unmatched(
        given.length === 0 ? 'it has no id, email or phone' : `nobody in the team has ${given.join(' or ')}`,
      )
    );
  };
}

/**
 * Finds the user that a row is about, by id, else by email, else by phone:
 *
 * | what the row gives                        | the row is                         |
 * |-------------------------------------------|------------------------------------|
 * | the id of a user in the team              | that user, whatever its email says |
 * | an unknown id                             | unmatched                          |
 * | the email of one user                     | that user                          |
 * | an email that several users have          | ambiguous                          |
 * | no email or an unknown one, and a phone   | matched by phone in the same way   |
 * | none of these                             | unmatched                          |
 */
import { canonicalEmail, canonicalPhone } from '../../model/canonical.ts';
import { type Id, maxId } from '../../model/id.ts';
import type { BaseUser, MirrorRow } from '../../model/user.ts';
import { type Cells, readPhone, withoutDecimals } from './read-values.ts';

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

/** @param users all users of the team */
export function createMatcher(users: readonly TeamUser[]): (cells: Cells) => Match {
  const byId = new Map(users.map((user) => [user.id, user]));
  const byEmail = groupUsers(users, ({ mirror }) => canonicalEmail(mirror.email));
  const byPhone = groupUsers(users, ({ mirror }) => canonicalPhone(mirror.phone));
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
    const read = readPhone(phone);
    const digits = 'digits' in read ? read.digits : canonicalPhone(phone);
    return (
      (email === '' ? undefined : only(byEmail.get(canonicalEmail(email)), `the email ${email}`)) ??
      (digits === '' ? undefined : only(byPhone.get(digits), `the phone ${phone}`)) ??
      unmatched(
        given.length === 0 ? 'it has no id, email or phone' : `nobody in the team has ${given.join(' or ')}`,
      )
    );
  };
}

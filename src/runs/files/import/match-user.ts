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
 * |                                           | else by its last digits            |
 * | none of these                             | unmatched                          |
 *
 * A row is contradictory if its email, phone or whole name belongs to other users, and not to the user that it is about.
 * It is still used if id and email or phone are of that user, and the name is only of users whom the file does not rename.
 */
import { canonicalEmail, canonicalPhone } from '../../../model/canonical.ts';
import { type Id, maxId } from '../../../model/id.ts';
import { firstOf } from '../../../model/in-words.ts';
import { canonicalName, joinName } from '../../../model/name.ts';
import type { BaseUser, MirrorRow } from '../../../model/user.ts';
import { nationalEnd, readPhone, withoutDecimals } from './read-phone.ts';
import type { Cells } from './read-values.ts';

export interface TeamUser {
  readonly id: Id;
  readonly mirror: MirrorRow;
  readonly base: BaseUser | undefined;
}

/** The user of a row; or what is wrong with the row, and the user that it is probably about. */
export type RowMatch =
  | { readonly user: TeamUser; readonly kind?: undefined }
  | {
      readonly kind: 'unmatched' | 'ambiguous';
      readonly reason: string;
      readonly user: TeamUser | undefined;
    }
  | {
      readonly kind: 'contradictory';
      readonly reason: string;
      readonly user: TeamUser;
      /** The users with the row's name, if the row's id, and its email or phone, belong to `user`. Empty otherwise. */
      readonly namesakes: readonly TeamUser[];
    };

const sayIds = (users: readonly TeamUser[]) =>
  `user${users.length === 1 ? '' : 's'} ${firstOf(users.map(({ id }) => id))}`;

function groupUsers(users: readonly TeamUser[], keyOf: (user: TeamUser) => string) {
  return Map.groupBy(
    users.filter((user) => keyOf(user) !== ''),
    keyOf,
  );
}

/** A value in a row, with the users to whom it belongs. */
interface Claim {
  readonly what: string;
  readonly owners: readonly TeamUser[];
}

/** The fewest digits by which a phone without a country code is matched. */
const shortestEnd = 7;

/** Makes a function that finds the users with a phone number, by all of its digits; if none match, by its last digits. */
function createPhoneFinder(users: readonly TeamUser[], country: string | null) {
  const phoneOf = ({ mirror }: TeamUser) => canonicalPhone(mirror.phone);
  const lastOf = (digits: string) => digits.slice(-shortestEnd);
  const byPhone = groupUsers(users, phoneOf);
  const byEnd = groupUsers(users, (user) => lastOf(phoneOf(user)));
  return (phone: string): readonly TeamUser[] => {
    const read = readPhone(phone, country);
    const digits = 'digits' in read ? read.digits : canonicalPhone(phone);
    const end = nationalEnd(phone);
    const same = byPhone.get(digits) ?? [];
    if (same.length > 0 || end.length < shortestEnd) return same;
    return byEnd.get(lastOf(end))?.filter((user) => phoneOf(user).endsWith(end)) ?? [];
  };
}

/** The whole name in a row; empty if the row does not have both halves. */
const wholeNameOf = (cells: Cells): string => {
  const [first, last] = [cells('first_name'), cells('last_name')];
  if (cells('name') !== '') return canonicalName(cells('name'));
  return first === '' || last === '' ? '' : joinName({ first, last });
};

export interface MatchWishes {
  /** The calling code of phones that are written without one. */
  readonly country: string | null;
  /** True if a row is about the user found by its first identity (id, email, phone), even if other cells contradict. */
  readonly trustsIds: boolean;
}

/** @param users all users of the team */
export function createMatcher(
  users: readonly TeamUser[],
  { country, trustsIds }: MatchWishes,
): (cells: Cells) => RowMatch {
  const byId = new Map(users.map((user) => [user.id, user]));
  const byEmail = groupUsers(users, ({ mirror }) => canonicalEmail(mirror.email));
  const byName = groupUsers(users, ({ mirror }) => joinName(mirror.name).toLowerCase());
  const usersWithPhone = createPhoneFinder(users, country);
  /** The user whom the row names first, or the reason why it names no single user. */
  const first = (
    cells: Cells,
    claims: readonly Claim[],
    isNotNamed: (user: TeamUser) => boolean,
  ): TeamUser | [kind: 'unmatched' | 'ambiguous', reason: string] => {
    const id = withoutDecimals(cells('id'));
    if (id !== '') {
      if (!/^\d+$/.test(id) || BigInt(id) > maxId) return ['unmatched', `"${id}" is not an id`];
      return byId.get(BigInt(id)) ?? ['unmatched', `nobody in the team has the id ${id}`];
    }
    const { what, owners } = claims.find((claim) => claim.owners.length > 0) ?? { what: '', owners: [] };
    if (owners.length > 1) return ['ambiguous', `${what} belongs to ${sayIds(owners)}: give the id`];
    const [only] = owners;
    // The phone is not sufficient: a new user can have the phone of a user who left, or of the office.
    if (only !== undefined && claims[0]?.owners.length === 0 && isNotNamed(only))
      return [
        'unmatched',
        `${what} belongs to user ${only.id}, who has another email and another name: give the id`,
      ];
    const given = claims.map((claim) => claim.what).join(' or ');
    const reason = given === '' ? 'it has no id, email or phone' : `nobody in the team has ${given}`;
    return owners[0] ?? ['unmatched', reason];
  };
  return (cells) => {
    const [email, phone, name] = [cells('email'), cells('phone'), wholeNameOf(cells)];
    const namesakes = byName.get(name.toLowerCase()) ?? [];
    const addresses = [
      { what: `the email ${email}`, isGiven: email !== '', owners: byEmail.get(canonicalEmail(email)) ?? [] },
      { what: `the phone ${phone}`, isGiven: phone !== '', owners: usersWithPhone(phone) },
    ].filter(({ isGiven }) => isGiven);
    const user = first(cells, addresses, (one) => name !== '' && !namesakes.includes(one));
    if (Array.isArray(user)) {
      const [namesake, ...others] = namesakes;
      const isOne = namesake !== undefined && others.length === 0;
      const [kind, reason] = user;
      return isOne
        ? { kind, reason: `${reason}; user ${namesake.id} has this name`, user: namesake }
        : { kind, reason, user: undefined };
    }
    const named = { what: `the name ${name}`, owners: namesakes };
    const other = [...addresses, named].find(({ owners }) => owners.length > 0 && !owners.includes(user));
    if (trustsIds || other === undefined) return { user };
    const reason = `it is of user ${user.id}, but ${other.what} belongs to ${sayIds(other.owners)}`;
    const isKnown = cells('id') !== '' && addresses.some(({ owners }) => owners.includes(user));
    return {
      kind: 'contradictory',
      reason: `${reason}: correct it, or give --trust-ids`,
      user,
      namesakes: other === named && isKnown ? namesakes : [],
    };
  };
}

/**
 * The case of a user as a whole. B: has a base. M: has a mirror row. S: the service shows the user. L: the team lists it.
 *
 * | B | M | S | L | gone | presence   | what it means |
 * |---|---|---|---|------|------------|---------------|
 * | – | – | S | · |      | adopt      | the user is new: mirror and base are written together |
 * | B | – | S | · |      | adopt      | the mirror lost the row; the interface cannot delete users |
 * | · | M | S | · | yes  | return     | the user came back: adopted again, pending edits are held |
 * | – | M | S | · | no   | merge      | there is no base: equal fields settle, other fields conflict |
 * | B | M | S | · | no   | merge      | each field is merged |
 * | – | – | – | L |      | adopt      | no lookup finds the user: the team listing's values are used |
 * | · | M | – | L | ·    | unresolved | nothing is pulled or pushed; edits stay |
 * | B | – | – | L |      | adopt      | no lookup finds the user: restored from base and the team listing |
 * | B | M | – | – | no   | missing    | marked as gone once the absence is proven |
 * | · | M | – | – | yes  | waiting    | the user is known to be gone |
 * | B | – | – | – |      | forget     | the user exists nowhere any more: the rows are deleted |
 * | – | M | – | – | no   | stranger   | the fields are held: the interface cannot create users |
 * | – | – | – | – |      | waiting    | the user exists nowhere |
 *
 * A user with an open intent is always `waiting`, because the outcome of the intent must be known first. A user that
 * the service shows with an older version than before is `waiting`, too.
 */
import type { TeamMember } from '../../model/team-member.ts';
import type { UserCase } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';

export interface Sighting {
  readonly base: boolean;
  readonly mirror: boolean;
  readonly service: boolean;
  readonly listed: boolean;
  /** True if the user's row in the mirror is marked as gone. */
  readonly gone: boolean;
}

export function decideUserCase({ base, mirror, service, listed, gone }: Sighting): UserCase {
  if (service) {
    if (!mirror) return 'adopt';
    return gone ? 'return' : 'merge';
  }
  if (listed) return mirror ? 'unresolved' : 'adopt';
  if (mirror) {
    if (gone) return 'waiting';
    return base ? 'missing' : 'stranger';
  }
  return base ? 'forget' : 'waiting';
}

export function caseOf(state: UserState, member: TeamMember | undefined): UserCase {
  const { base, mirror, service, hasOpenIntent, stale } = state;
  if (hasOpenIntent || stale === true) return 'waiting';
  return decideUserCase({
    base: base !== undefined,
    mirror: mirror !== undefined,
    service: service !== undefined,
    listed: member !== undefined,
    gone: mirror?.gone === true,
  });
}

/**
 * The case of a user as a whole (B base, M mirror, S a row of the service, L listed by the team).
 *
 * | B | M | S | L | gone | presence   | what it means |
 * |---|---|---|---|------|------------|---------------|
 * | – | – | S | · |      | adopt      | new: mirror and base are written together |
 * | B | – | S | · |      | adopt      | the row was lost here; the interface cannot delete users |
 * | · | M | S | · | yes  | return     | back: adopted again, pending edits are held |
 * | – | M | S | · | no   | merge      | without base: equal fields settle, others conflict |
 * | B | M | S | · | no   | merge      | field by field |
 * | – | – | – | L |      | adopt      | with the values of the team listing, unresolved |
 * | · | M | – | L | ·    | unresolved | neither pulled nor pushed; edits stay |
 * | B | – | – | L |      | adopt      | as above, unresolved |
 * | B | M | – | – | no   | missing    | gets a tombstone only on proof |
 * | · | M | – | – | yes  | waiting    | known to be gone |
 * | B | – | – | – |      | forget     | exists nowhere any more |
 * | – | M | – | – | no   | stranger   | the interface cannot create users: held |
 * | – | – | – | – |      | waiting    | exists nowhere |
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
  /** Only rows of the mirror can be gone. */
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

/**
 * Pushes of single fields that are held on their own, whatever else a person has approved:
 *
 * | what                                                  | which fields are held                  |
 * |-------------------------------------------------------|----------------------------------------|
 * | more than `maxRoleChanges` role changes               | all of those roles                     |
 * | an email or phone that another user has, or is to get | that email or phone                    |
 * | no administrator would be left                        | the roles of those who are one now (†) |
 *
 * † unless a promotion of the same run may mend it, or not everybody was read: see `lastAdministrators`.
 *
 * A field that a person decided with `musterd resolve` passes, and still counts for the others: what it
 * brings is on its way. So is what an open push was to bring, which may or may not have arrived.
 */

import type { Id } from '../../model/id.ts';
import { inTurns } from '../../model/in-turns.ts';
import type { Intent } from '../../model/intent.ts';
import type { PresentUser } from '../../model/plan.ts';
import type { TeamMember } from '../../model/team.ts';
import { canonicalShown, canonicalValue, type Field, readable, type ServiceUser } from '../../model/user.ts';
import { type Hold, holdField, pushOf, type UserPlan } from '../../model/user-plan.ts';

/** Who is there, and what is on its way to them. */
export interface Population {
  /** Everybody whom the service shows; where not everybody was read, those whom it was asked for. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** Of these all who are shown otherwise than was last agreed on: of the others `present` says the same. */
  readonly differing: Iterable<Id>;
  /** Whether everybody was read. */
  readonly isWhole: boolean;
  /** Everybody whom the team lists. */
  readonly members: ReadonlyMap<Id, TeamMember>;
  /** Everybody in the mirror who is not gone, as far as they are concerned. */
  readonly present: readonly PresentUser[];
  /** Pushes whose outcome is not known. */
  readonly open: readonly Pick<Intent, 'userId' | 'sent'>[];
}

/** A plan that pushes, with the fields that a person let pass all field limits. */
export interface ReviewedFields {
  readonly plan: UserPlan;
  readonly resolved: readonly Field[];
}

export type FieldLimits = ReadonlyMap<Id, readonly Hold[]>;

/** All holds of several field limits; of two on one field the first. */
export function joinLimits(all: readonly FieldLimits[]): FieldLimits {
  const joined = new Map<Id, readonly Hold[]>();
  for (const [id, holds] of all.flatMap((fieldLimits) => [...fieldLimits])) {
    const before = joined.get(id) ?? [];
    const added = holds.filter(({ field }) => before.every((hold) => hold.field !== field));
    joined.set(id, [...before, ...added]);
  }
  return joined;
}

/** Each field limit, and what is said of the fields that it holds. `musterd resolve` is the way out of every one. */
export const limitWords = {
  email: (other: Id) => `user ${other} has or is to get the same email`,
  phone: (other: Id) => `user ${other} has or is to get the same phone`,
  roles: (changes: number, max: number) => `${changes} roles would change in one run, more than ${max}`,
  administrators: () => 'no administrator would be left',
} as const;

function limitField({ plan, resolved }: ReviewedFields, field: Field, detail: string): FieldLimits {
  const decision = plan.fields[field];
  if (decision.kind !== 'push' || resolved.includes(field)) return new Map();
  return new Map([[plan.id, [holdField(field, 'limit', detail, decision.values).hold]]]);
}

type Addressed = ReadonlyMap<string, readonly Id[]>;

const addressed = new WeakMap<Population['members'], Readonly<Record<'email' | 'phone', Addressed>>>();

/** Who is listed with each address: found out once, since a listing is long, and serves many runs of edits. */
function addressesOf(members: Population['members']): Readonly<Record<'email' | 'phone', Addressed>> {
  const known = addressed.get(members);
  if (known !== undefined) return known;
  const { found, take } = createAddressed();
  for (const member of members.values()) take(member);
  addressed.set(members, found);
  return found;
}

/** The same ahead of need: others have their turn meanwhile. */
export async function indexAddresses(members: Population['members']): Promise<void> {
  if (addressed.has(members)) return;
  const { found, take } = createAddressed();
  await inTurns(members.values(), take);
  addressed.set(members, found);
}

function createAddressed() {
  const found = { email: new Map<string, Id[]>(), phone: new Map<string, Id[]>() };
  const take = (member: TeamMember) => {
    for (const field of ['email', 'phone'] as const) {
      const address = canonicalShown(field, member[field]);
      const ids = found[field].get(address);
      if (ids !== undefined) ids.push(member.id);
      else if (address !== '') found[field].set(address, [member.id]);
    }
  };
  return { found, take };
}

type Owners = ReadonlyMap<string, ReadonlySet<Id>>;

/** Who has each address that is pushed, as the service says or as was last agreed on, and who is to get it. */
function ownersOf(
  field: 'email' | 'phone',
  pushes: readonly ReviewedFields[],
  { users, differing, members, present, open }: Population,
): Owners {
  const pushed = pushes.map(({ plan }) => canonicalShown(field, pushOf(plan)[field] ?? null));
  const owners = new Map(pushed.filter((value) => value !== '').map((value) => [value, new Set<Id>()]));
  if (owners.size === 0) return owners;
  const ownValue = (id: Id, value: string | null | undefined) => {
    if (value !== undefined) owners.get(canonicalShown(field, value))?.add(id);
  };
  const shownOf = (id: Id) => readable(users.get(id)?.[field]);
  for (const id of differing) ownValue(id, shownOf(id));
  const listed = addressesOf(members)[field];
  for (const [address, ids] of owners) for (const id of listed.get(address) ?? []) ids.add(id);
  for (const { id, [field]: agreed } of present) {
    const shown = shownOf(id);
    ownValue(id, shown === undefined ? agreed : shown);
  }
  for (const { userId, sent } of open) ownValue(userId, sent[field]);
  for (const { plan } of pushes) ownValue(plan.id, pushOf(plan)[field]);
  return owners;
}

/** Emails and phones that would be two people's. */
export function sharedAddresses(pushes: readonly ReviewedFields[], population: Population): FieldLimits {
  const held = (['email', 'phone'] as const).flatMap((field) => {
    const owners = ownersOf(field, pushes, population);
    return pushes.flatMap((push) => {
      const { id } = push.plan;
      const value = pushOf(push.plan)[field];
      if (value === undefined) return [];
      const having = owners.get(canonicalValue(field, { email: null, phone: null, [field]: value }));
      const other = having?.values().find((owner) => owner !== id);
      return other === undefined ? [] : [limitField(push, field, limitWords[field](other))];
    });
  });
  return joinLimits(held);
}

/** Roles, where more than so many would change. What a person decided one by one does not count. */
export function tooManyRoles(pushes: readonly ReviewedFields[], maxRoleChanges: number): FieldLimits {
  const changes = pushes.filter(
    ({ plan, resolved }) => plan.fields.roleId.kind === 'push' && !resolved.includes('roleId'),
  );
  if (changes.length <= maxRoleChanges) return new Map();
  const detail = limitWords.roles(changes.length, maxRoleChanges);
  return joinLimits(changes.map((push) => limitField(push, 'roleId', detail)));
}

/** Which run a demotion waits for: the next one, or the next that reads everybody. */
export type Until = 'next' | 'whole';

/** What becomes of demotions that would leave nobody in charge. */
export interface LastAdministrators {
  readonly fieldLimits: FieldLimits;
  /** Left out of this run: neither sent nor held. */
  readonly postponed: ReadonlyMap<Id, Until>;
}

/**
 * Demotions, where no administrator would be left of those whom the service shows and the team lists; of
 * those whom it shows, where the team lists nobody. One on its way counts as done; a promotion never does,
 * since it may be refused, deferred or edited again before it leaves.
 *
 * | left | a promotion is sent in this run | everybody was read | the demotion                         |
 * |------|---------------------------------|--------------------|--------------------------------------|
 * | yes  | ·                               | ·                  | is sent                              |
 * | no   | yes                             | ·                  | waits for the next run               |
 * | no   | no                              | no                 | waits for a run that reads everybody |
 * | no   | no                              | yes                | is held                              |
 *
 * One that is not sent in this run anyway (`isSent`) keeps its place in the batch instead of waiting
 * outside of it.
 */
export function lastAdministrators(
  pushes: readonly ReviewedFields[],
  { users, differing, members, present, open, isWhole }: Population,
  adminRoleIds: readonly Id[],
  isSent: (plan: UserPlan) => boolean,
): LastAdministrators {
  const isAdmin = (roleId: Id | null | undefined) => adminRoleIds.some((admin) => admin === roleId);
  const agreed = new Map(present.map(({ id, roleId }) => [id, roleId]));
  const roleOf = (id: Id) => {
    const said = readable(users.get(id)?.roleId);
    return said === undefined ? agreed.get(id) : said;
  };
  const isListed = (id: Id) => members.size === 0 || members.has(id);
  const isThere = (id: Id) => users.has(id) || members.has(id);
  const isAdminNow = (id: Id) => isThere(id) && isAdmin(roleOf(id));
  const demoted = pushes.filter(({ plan }) => {
    const { roleId } = pushOf(plan);
    return roleId !== undefined && isAdminNow(plan.id) && !isAdmin(roleId);
  });
  if (demoted.length === 0) return { fieldLimits: new Map(), postponed: new Map() };
  const admins = new Set([...differing, ...agreed.keys()].filter(isAdminNow));
  const left = new Set([...admins].filter(isListed));
  for (const { plan } of demoted) left.delete(plan.id);
  for (const { userId, sent } of open)
    if (sent.roleId !== undefined && !isAdmin(sent.roleId)) left.delete(userId);
  if (left.size > 0) return { fieldLimits: new Map(), postponed: new Map() };
  const promotes = pushes.some(
    ({ plan }) => isAdmin(pushOf(plan).roleId) && !admins.has(plan.id) && isListed(plan.id) && isSent(plan),
  );
  if (isWhole && !promotes) {
    const held = demoted.map((push) => limitField(push, 'roleId', limitWords.administrators()));
    return { fieldLimits: joinLimits(held), postponed: new Map() };
  }
  const waiting = demoted.filter(({ plan, resolved }) => isSent(plan) && !resolved.includes('roleId'));
  const until = promotes ? 'next' : 'whole';
  return { fieldLimits: new Map(), postponed: new Map(waiting.map(({ plan }) => [plan.id, until])) };
}

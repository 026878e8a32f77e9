/** Finds users outside of the plan whose values the limits on single fields need, such as owners of an address. */
import { canonicalEmail, canonicalPhone } from '../../model/canonical.ts';
import type { Id } from '../../model/id.ts';
import type { Concern, PresentUser } from '../../model/plan.ts';
import { decisionsOf, isPush, pushOf, type UserPlan } from '../../model/user-plan.ts';
import type { MirrorPort } from '../ports.ts';
import type { UserLookup } from '../read/lookup.ts';
import type { Population } from './field-limits.ts';

/** True if the plan pushes a field other than the name. Limits on such fields compare the user with other users. */
const concernsOthers = (plan: UserPlan): boolean =>
  decisionsOf(plan, 'push').some(([field]) => field !== 'name');

/** Other users whom the pushes concern: owners of a pushed address and, if a role is pushed, the administrators. */
export function concernOf(plans: readonly UserPlan[], adminRoleIds: readonly Id[]): Concern {
  const patches = plans.filter(isPush).map(pushOf);
  const known = (forms: readonly string[]) => [...new Set(forms)].filter((form) => form !== '');
  return {
    emails: known(patches.map(({ email }) => canonicalEmail(email ?? null))),
    phones: known(patches.map(({ phone }) => canonicalPhone(phone ?? null))),
    roleIds: patches.some(({ roleId }) => roleId !== undefined) ? adminRoleIds : [],
  };
}

/** Reads the unchanged users that the guard compares pushes with, but only if a push needs this comparison. */
export async function readKnown(
  mirror: MirrorPort,
  plans: readonly UserPlan[],
  adminRoleIds: readonly Id[],
): Promise<readonly PresentUser[]> {
  return plans.some(concernsOthers) ? await mirror.readPresentUsers(concernOf(plans, adminRoleIds)) : [];
}

/**
 * Users that a field limit depends on according to base. They must be looked up, because base may be out of date: the
 * owner of a pushed address may no longer have it, and other administrators may have been demoted.
 */
export function concernedBy(
  plans: readonly UserPlan[],
  present: readonly PresentUser[],
  adminRoleIds: readonly Id[],
): readonly Id[] {
  const isAdmin = (roleId: unknown) => adminRoleIds.some((admin) => admin === roleId);
  const demotes = ({ fields: { roleId } }: UserPlan) =>
    roleId.kind === 'push' && !isAdmin(roleId.values.mirror) && isAdmin(roleId.values.service);
  const demotesAny = plans.some(demotes);
  const concern = concernOf(plans, adminRoleIds);
  const [emails, phones] = [new Set(concern.emails), new Set(concern.phones)];
  return present.flatMap(({ id, email, phone, roleId }) => {
    const had = emails.has(canonicalEmail(email)) || phones.has(canonicalPhone(phone));
    return had || (demotesAny && isAdmin(roleId)) ? [id] : [];
  });
}

/** Looks up other users that a field limit depends on: owners of pushed addresses, and administrators. */
export async function lookAround(
  lookup: UserLookup,
  plans: readonly UserPlan[],
  present: readonly PresentUser[],
  listed: Population['listed'],
  adminRoleIds: readonly Id[],
): Promise<void> {
  const patches = plans.map(pushOf);
  await lookup.askAll({
    emails: patches.map(({ email }) => email ?? null),
    phones: patches.map(({ phone }) => phone ?? null),
  });
  const listing = patches.flatMap(({ email, phone }) => [
    ...(listed.email.get(canonicalEmail(email ?? null)) ?? []),
    ...(listed.phone.get(canonicalPhone(phone ?? null)) ?? []),
  ]);
  const concerned = new Set([...concernedBy(plans, present, adminRoleIds), ...listing]);
  await lookup.find([...concerned].map((id) => ({ id, emails: [], phones: [] })));
}

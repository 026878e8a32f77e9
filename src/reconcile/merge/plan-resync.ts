/** What "take everything from the service" makes of one user: values in, a plan out. */
import type { Hold, Move, UserPlan, UserState } from '../../model/change.ts';
import { joinName } from '../../model/name.ts';
import type { TeamMember } from '../../model/team.ts';
import {
  type BaseUser,
  type Field,
  fields,
  type MirrorUser,
  type ServiceUser,
  sameBytes,
  serviceValue,
} from '../../model/user.ts';
import { holdStands } from './plan-field.ts';
import { planUser } from './plan-user.ts';
import type { Policy } from './policy.ts';

const detail = 'resync: this edit had not reached the service';

/** Edits of a user of whom nothing can be taken now wait as well: nothing old is sent by itself. */
function holdEdits(state: UserState, mirror: MirrorUser, base: BaseUser): readonly Hold[] {
  return fields
    .filter((field) => !sameBytes(field, mirror, base) && !state.held.some((hold) => hold.field === field))
    .map((field): Hold => {
      const service = field === 'name' ? joinName(base.name) : base[field];
      return { field, reason: 'conflict', base: base[field], mirror: mirror[field], service, detail };
    });
}

/** Fields that wait already, or that a person wants left as they are. */
function standing({ held }: UserState, mirror: MirrorUser, service: ServiceUser): ReadonlySet<Field> {
  const stand = held.filter((hold) =>
    hold.reason === 'asked' ? (hold.endsInMs ?? 0) > 0 : holdStands(hold, mirror, service),
  );
  return new Set(stand.map(({ field }) => field));
}

/** The new values, but for those fields that stay as they are. */
function keep<Values extends MirrorUser | BaseUser>(
  again: Values,
  old: Values,
  kept: ReadonlySet<Field>,
): Values {
  const values = Object.fromEntries([...kept].map((field) => [field, old[field]]));
  if (!kept.has('name')) return { ...again, ...values };
  const beside = 'joined' in old ? { joined: old.joined } : { split: old.split };
  return { ...again, ...values, ...beside };
}

function takeFromService(
  state: UserState,
  mirror: MirrorUser,
  service: ServiceUser,
  again: UserPlan,
): UserPlan {
  const { write } = again;
  if (write === null) return again;
  const kept = standing(state, mirror, service);
  const after = keep<MirrorUser>(write.mirror, mirror, kept);
  const base = keep<BaseUser>(write.base, state.base ?? write.base, kept);
  const holds = again.holds
    .filter(({ field }) => !kept.has(field))
    // A name that the service shows no more is no edit of ours, and says so itself.
    .map(
      (hold): Hold =>
        hold.reason === 'conflict'
          ? hold
          : { ...hold, reason: 'conflict', base: state.base?.[hold.field], detail },
    );
  const held = new Set(holds.map(({ field }) => field));
  const moves = fields
    .filter((field) => !kept.has(field) && !held.has(field))
    .flatMap((field): readonly Move[] => {
      const values = {
        field,
        base: state.base?.[field],
        mirror: mirror[field],
        service: serviceValue(service, field),
      };
      if (!sameBytes(field, mirror, after)) return [{ kind: 'pull', ...values }];
      const agreed = state.base !== undefined && sameBytes(field, state.base, base);
      return agreed ? [] : [{ kind: 'settle', ...values }];
    });
  const sameBase =
    state.base !== undefined && fields.every((field) => sameBytes(field, base, state.base ?? base));
  const isSame =
    moves.length === 0 && sameBase && state.base?.joined === base.joined && !state.observedDiffers;
  return {
    ...again,
    presence: 'merge',
    moves,
    holds,
    releases: fields.filter(
      (field) => !kept.has(field) && !held.has(field) && state.held.some((hold) => hold.field === field),
    ),
    held: [...kept],
    write: isSame ? null : { ...write, mirror: after, base },
  };
}

/**
 * Base and mirror become what the service says; an edit that has not reached the service stays in the
 * mirror, and waits for a person. What was held before, or is held on request, stays as it is.
 */
export function planResyncOf(read: UserState, member: TeamMember | undefined, policy: Policy): UserPlan {
  // A person asked to believe the service, so an older version is as good as a newer one.
  const state: UserState = { ...read, stale: false };
  const { mirror, base, service } = state;
  const isMerge = service !== undefined && mirror !== undefined && !mirror.gone && !state.hasOpenIntent;
  if (isMerge) {
    // Whoever comes back is taken from the service in just this way.
    const again = planUser({ ...state, mirror: { ...mirror, gone: true } }, member, policy);
    return takeFromService(state, mirror, service, again);
  }
  const plan = planUser(state, member, policy);
  if (mirror === undefined || base === undefined || mirror.gone) return plan;
  return { ...plan, holds: [...plan.holds, ...holdEdits(state, mirror, base)] };
}

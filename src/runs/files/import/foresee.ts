/** Predicts, from the mirror alone, which fields of an import the guard will hold, and how long pushing them takes. */
import type { Config } from '../../../config/config.ts';
import type { Field, FieldValue } from '../../../model/fields.ts';
import { paceOf } from '../../../model/pace.ts';
import type { Id } from '../../../model/id.ts';
import { canonicalShown, type ServiceUser } from '../../../model/user.ts';
import { limitWords } from '../../../reconcile/guard/field-limits.ts';
import { massChange } from '../../../reconcile/guard/limits.ts';
import {
  arrangeBatches,
  countRequests,
  type Pushable,
  type PushLessons,
} from '../../../reconcile/push/batches.ts';
import { reconcileSettings } from '../../sync/reconcile-team.ts';
import type { TeamUser } from './match-user.ts';
import type { ImportChange } from './plan-import.ts';

export interface ImportForecast {
  /** Why all changes would be held as one batch: one text per reason. */
  readonly refused: readonly string[];
  /** Fields that would be held one by one, even if the batch is approved, each with the reason. */
  readonly limited: readonly string[];
  readonly cost: { readonly users: number; readonly requests: number; readonly seconds: number };
}

function afterImport(
  field: 'email' | 'phone' | 'roleId',
  users: readonly TeamUser[],
  changes: readonly ImportChange[],
): ReadonlyMap<Id, FieldValue> {
  const now = new Map<Id, FieldValue>(users.map(({ id, mirror }) => [id, mirror[field]]));
  for (const change of changes) if (change.field === field) now.set(change.userId, change.to);
  return now;
}

function sharedBy(
  field: 'email' | 'phone',
  users: readonly TeamUser[],
  changes: readonly ImportChange[],
): readonly string[] {
  const form = (value: FieldValue | undefined) => canonicalShown(field, (value ?? null) as string | null);
  const owners = Map.groupBy(afterImport(field, users, changes), ([, value]) => form(value));
  return changes.flatMap((change) => {
    if (change.field !== field || form(change.to) === '') return [];
    const other = owners.get(form(change.to))?.find(([id]) => id !== change.userId)?.[0];
    return other === undefined ? [] : [`${field} of ${change.userId}: ${limitWords[field](other)}`];
  });
}

function limitedFields(
  users: readonly TeamUser[],
  changes: readonly ImportChange[],
  { maxRoleChanges, adminRoleIds }: { readonly maxRoleChanges: number; readonly adminRoleIds: readonly Id[] },
): readonly string[] {
  const roles = changes.filter(({ field }) => field === 'roleId').length;
  const isAdmin = (roleId: unknown) => adminRoleIds.some((admin) => admin === roleId);
  const hasAdmin = users.some(({ mirror }) => isAdmin(mirror.roleId));
  const keepsAdmin = [...afterImport('roleId', users, changes).values()].some(isAdmin);
  return [
    ...changes.flatMap(({ userId, unsure }) =>
      unsure === undefined ? [] : [`phone of ${userId}: ${unsure}`],
    ),
    ...sharedBy('email', users, changes),
    ...sharedBy('phone', users, changes),
    ...(roles > maxRoleChanges ? [`role_id: ${limitWords.roles(roles, maxRoleChanges)}`] : []),
    ...(hasAdmin && !keepsAdmin ? [`role_id: ${limitWords.administrators()}`] : []),
  ];
}

/** Predicts from the mirror alone what a run will send. */
export function pushesOf(changes: readonly ImportChange[]): readonly Pushable[] {
  const sent = changes.filter(({ unsure }) => unsure === undefined);
  return [...Map.groupBy(sent, ({ userId }) => userId)].map(([id, all]) => ({
    id,
    patch: Object.fromEntries(all.map(({ field, to }): [Field, FieldValue] => [field, to])),
  }));
}

export function foresee(
  config: Config,
  users: readonly TeamUser[],
  changes: readonly ImportChange[],
  pushedToday: ReadonlySet<Id>,
  lessons: PushLessons,
): ImportForecast {
  const { guard, push } = reconcileSettings(config);
  const pushes = pushesOf(changes);
  const serviceUsers = new Map<Id, ServiceUser>(
    users.map(({ id, base }) => [
      id,
      { id, email: base?.email ?? null, phone: base?.phone ?? null, raw: {} },
    ]),
  );
  const batches = arrangeBatches(pushes, push.batchSize, lessons);
  const requests = countRequests(batches, serviceUsers);
  const { periodMs } = paceOf(config.rate);
  return {
    refused: massChange(
      pushes.map(({ id }) => id),
      { population: users.length, pushedToday },
      guard,
    ),
    limited: limitedFields(users, changes, guard),
    cost: { users: pushes.length, requests, seconds: Math.ceil((requests * periodMs) / 1_000) },
  };
}

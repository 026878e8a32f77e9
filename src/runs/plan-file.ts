/** A plan as a file to review and apply once: the batch of edits that it shows, for this team of this service. */
import { createHmac } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import { readDatabaseTime, readPlanKey } from '../mirror/users/applied-plans.ts';
import { columnOf, type FieldValue, fieldOf, isText } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import type { NamePair } from '../model/name.ts';
import { sendableOf } from '../reconcile/only-reviewed.ts';
import { type BatchRow, hashOf } from '../reconcile/guard/batch-hash.ts';
import type { Setup } from './open.ts';
import type { PlanReport } from './reconcile-team.ts';

/** Files of other versions of musterd may have another number. */
const layout = 4;

/** A row of the file. Ids are text, so that no tool rounds them. */
interface FileRow {
  readonly user_id: string;
  readonly name: string;
  readonly field: string;
  /** The edit; absent if it was not on record yet. */
  readonly edit_id?: string;
  /** The later of the service's two versions of the user; absent if they prove nothing. */
  readonly base?: NamePair | string | null;
  readonly service?: string | null;
  readonly mirror?: NamePair | string | null;
}

/** The content of a file. */
export interface PlanFile {
  /** Hash of these rows, as shown by "musterd plan". It can be applied once, unless a later plan has the same hash. */
  readonly hash: string;
  /** The time by the clock of the mirror's database. */
  readonly madeAt: Date;
  readonly teamId: Id;
  readonly service: string;
  readonly rows: readonly (BatchRow & { readonly name: string })[];
}

const addressOf = ({ service: { baseUrl = '' } }: Pick<Config, 'service'>): string =>
  URL.canParse(baseUrl) ? new URL(baseUrl).href : baseUrl;

const inJson = (body: object, indent?: number): string =>
  JSON.stringify(body, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value), indent);

/** @param key the plan key of the mirror (`readPlanKey`) */
const sealOf = (body: object, key: string): string =>
  createHmac('sha256', key).update(inJson(body)).digest('hex');

/** The hash of a plan. It changes with the edits, and with the service's values that were seen for them. */
export const planHash = ({ users }: Pick<PlanReport, 'users'>): string => hashOf(sendableOf(users));

/** The time of a plan that is made now, by the clock of the mirror's database. */
export const planTime = ({ mirror }: Pick<Setup, 'mirror'>): Promise<Date> =>
  readDatabaseTime(mirror.db.kysely);

/** The text of a plan's file, sealed by this mirror. @param about its time, and a user's name for readers */
export async function writePlanFile(
  { config, mirror }: Setup,
  { team, users }: Pick<PlanReport, 'team' | 'users'>,
  about: { readonly madeAt: Date; readonly nameOf: (id: Id) => string },
): Promise<string> {
  const rows = sendableOf(users);
  const body = {
    musterd_plan: layout,
    team: { id: team.id, name: team.name },
    service: addressOf(config),
    made_at: about.madeAt.toISOString(),
    hash: hashOf(rows),
    changes: rows.map(({ userId, field, edit, values }) => ({
      user_id: userId,
      name: about.nameOf(userId),
      field: columnOf(field),
      edit_id: edit,
      ...values,
    })),
  };
  const seal = sealOf(body, await readPlanKey(mirror.db.kysely, config.team));
  return `${inJson({ ...body, seal }, 2)}\n`;
}

/** @throws MusterdError `usage` if the file is not a plan of this mirror */
export async function readPlanFile({ config, mirror }: Setup, content: string): Promise<PlanFile> {
  return decodePlan(content, await readPlanKey(mirror.db.kysely, config.team));
}

const unfit = (why: string) =>
  new MusterdError('usage', `This plan file cannot be applied: ${why}`, {
    hint: 'Make a new one: musterd plan --out plan.json',
  });

function readRow(row: FileRow): PlanFile['rows'][number] {
  const { user_id: id, name, edit_id: edit, base, service, mirror } = row;
  const field = fieldOf(row.field);
  const isId = field !== 'name' && !isText(field);
  const exact = <Value extends FieldValue | undefined>(value: Value) =>
    isId && typeof value === 'string' ? BigInt(value) : value;
  return {
    userId: BigInt(id),
    name,
    field,
    values: { base: exact(base), service: exact(service), mirror: exact(mirror) },
    edit: edit === undefined ? undefined : BigInt(edit),
  };
}

/**
 * The seal proves that this mirror wrote all of it, so that nothing else has to be checked.
 * @throws MusterdError `usage` if the file is not a plan, or was altered after this mirror wrote it
 */
export function decodePlan(text: string, key: string): PlanFile {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new MusterdError('usage', 'This is not a plan file: it is not JSON', { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || !('musterd_plan' in parsed))
    throw unfit('it was not written by "musterd plan --out"');
  const { seal, ...body } = parsed as {
    readonly musterd_plan: number;
    readonly team: { readonly id: string };
    readonly service: string;
    readonly made_at: string;
    readonly hash: string;
    readonly changes: readonly FileRow[];
    readonly seal?: unknown;
  };
  if (body.musterd_plan !== layout) throw unfit('another version of musterd wrote it');
  if (seal !== sealOf(body, key)) throw unfit('it was altered since it was written, or not by this mirror');
  const { hash, service, team, made_at: madeAt, changes } = body;
  return { hash, madeAt: new Date(madeAt), teamId: BigInt(team.id), service, rows: changes.map(readRow) };
}

/** @throws MusterdError `usage` if the plan is of another team or another service */
export function requireOurs({ teamId, service }: PlanFile, config: Pick<Config, 'service'>, ours: Id): void {
  if (teamId !== ours) throw unfit(`it is of team ${teamId}, and this is team ${ours}`);
  if (service !== addressOf(config)) throw unfit(`it is of the service at ${service}`);
}

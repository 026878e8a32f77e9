/** A plan as a file, to review and apply later: exactly its rows, for this team of this service, once. */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import { readDatabaseTime, readPlanKey } from '../mirror/users/applied-plans.ts';
import { columnOf, type FieldValue, singleNames, isText, fieldOf } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import type { ServiceValue } from '../model/user.ts';
import { sendableOf } from '../reconcile/exactly.ts';
import { type BatchRow, hashOf } from '../reconcile/guard/batch-hash.ts';
import type { Setup } from './open.ts';
import type { PlanReport } from './reconcile-team.ts';

const idText = z.string().regex(/^\d{1,19}$/);
const halves = z.strictObject({ first: z.string(), last: z.string() });

/** A row of the file. Ids are text, so that no tool rounds them. */
const rowOf = (field: string, value: z.ZodType<unknown>, service: z.ZodType<unknown> = value) =>
  z.strictObject({
    user_id: idText,
    name: z.string(),
    field: z.literal(field),
    /** Absent: the edit was not on record yet. */
    edit_id: idText.optional(),
    /** The later of the service's two versions of the user; absent: they tell nothing. */
    seen_version: z.iso.datetime().optional(),
    base: value.optional(),
    service: service.optional(),
    mirror: value.optional(),
  });
const text = z.string().nullable();
const fileRow = z.discriminatedUnion('field', [
  rowOf('name', halves, text),
  ...singleNames.map((field) => rowOf(columnOf(field), isText(field) ? text : idText.nullable())),
]);

const fileBody = z.strictObject({
  musterd_plan: z.literal(3),
  team: z.strictObject({ id: idText, name: text }),
  service: z.string(),
  /** By the clock of the mirror's database. */
  made_at: z.iso.datetime(),
  hash: z.string(),
  changes: z.array(fileRow),
});

type FileRow = z.infer<typeof fileRow>;

/** The content of a file. */
export interface PlanFile {
  /** Hash of these rows, as shown by "musterd plan". It can be applied once, unless a later plan has the same hash. */
  readonly hash: string;
  readonly madeAt: Date;
  readonly teamId: Id;
  readonly service: string;
  readonly rows: readonly (BatchRow & { readonly name: string })[];
}

const addressOf = ({ service: { baseUrl = '' } }: Pick<Config, 'service'>): string =>
  URL.canParse(baseUrl) ? new URL(baseUrl).href : baseUrl;

/** @param key the plan key of the mirror (`readPlanKey`) */
const sealOf = (body: object, key: string): string =>
  createHmac('sha256', key).update(JSON.stringify(body)).digest('hex');

const inText = <Value>(value: Value) => (typeof value === 'bigint' ? String(value) : value) as Value;

/** The hash of a plan: it changes with its edits, and with what was seen of the service for them. */
export const planHash = ({ users }: Pick<PlanReport, 'users'>): string => hashOf(sendableOf(users));

/** @param nameOf a user's name, for readers. `madeAt` is by the database's clock; `key` is the mirror's plan key. */
export function encodePlan(
  report: Pick<PlanReport, 'team' | 'users'>,
  { service }: Pick<Config, 'service'>,
  {
    madeAt,
    nameOf,
    key,
  }: { readonly madeAt: Date; readonly nameOf: (id: Id) => string; readonly key: string },
): string {
  const rows = sendableOf(report.users);
  const body = {
    musterd_plan: 3,
    team: { id: String(report.team.id), name: report.team.name },
    service: addressOf({ service }),
    made_at: madeAt.toISOString(),
    hash: hashOf(rows),
    changes: rows.map(({ userId, field, edit, seenMs, values: { base, service, mirror } }) => ({
      user_id: String(userId),
      name: nameOf(userId),
      field: columnOf(field),
      ...(edit === undefined ? {} : { edit_id: String(edit) }),
      ...(seenMs === undefined ? {} : { seen_version: new Date(seenMs).toISOString() }),
      ...(base === undefined ? {} : { base: inText(base) }),
      ...(service === undefined ? {} : { service: inText(service) }),
      ...(mirror === undefined ? {} : { mirror: inText(mirror) }),
    })),
  };
  return `${JSON.stringify({ ...body, seal: sealOf(body, key) }, undefined, 2)}\n`;
}

/** By the clock of the mirror's database: when a plan that is made now was made. */
export const planTime = ({ mirror }: Pick<Setup, 'mirror'>): Promise<Date> =>
  readDatabaseTime(mirror.db.kysely);

/** The text of a plan's file, sealed by this mirror. */
export async function writePlanFile(
  { config, mirror }: Setup,
  report: Pick<PlanReport, 'team' | 'users'>,
  about: { readonly madeAt: Date; readonly nameOf: (id: Id) => string },
): Promise<string> {
  return encodePlan(report, config, { ...about, key: await readPlanKey(mirror.db.kysely, config.team) });
}

/** @throws MusterdError `usage` for a file that is not a plan of this mirror */
export async function readPlanFile({ config, mirror }: Setup, content: string): Promise<PlanFile> {
  return decodePlan(content, await readPlanKey(mirror.db.kysely, config.team));
}

const unfit = (why: string) =>
  new MusterdError('usage', `This plan file cannot be applied: ${why}`, {
    hint: 'Make a new one: musterd plan --out plan.json',
  });

function readRow({
  user_id: id,
  name,
  field: column,
  edit_id: edit,
  seen_version: seen,
  ...row
}: FileRow): PlanFile['rows'][number] {
  const field = fieldOf(column);
  const isId = field !== 'name' && !isText(field);
  const exactOf = (value: unknown) =>
    (isId && typeof value === 'string' ? BigInt(value) : value) as FieldValue;
  const { base, service, mirror } = row;
  const values = { base: exactOf(base), service: exactOf(service) as ServiceValue, mirror: exactOf(mirror) };
  return {
    userId: BigInt(id),
    name,
    field,
    values,
    ...(edit === undefined ? {} : { edit: BigInt(edit) }),
    ...(seen === undefined ? {} : { seenMs: Date.parse(seen) }),
  };
}

/** @throws MusterdError `usage` for a file that is not a plan, or that was altered after this mirror wrote it */
export function decodePlan(text: string, key: string): PlanFile {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new MusterdError('usage', 'This is not a plan file: it is not JSON', { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || !('musterd_plan' in parsed))
    throw unfit('it was not written by "musterd plan --out"');
  const { seal, ...body } = parsed as { readonly seal?: unknown; readonly musterd_plan: unknown };
  if (body.musterd_plan !== 3) throw unfit('another version of musterd wrote it');
  if (seal !== sealOf(body, key)) throw unfit('it was altered since it was written, or not by this mirror');
  const { data, error } = fileBody.safeParse(body);
  if (error !== undefined)
    throw unfit(`it was not written by "musterd plan --out": ${z.prettifyError(error)}`);
  const rows = data.changes.map(readRow);
  if (data.hash !== hashOf(rows)) throw unfit('its rows are not those of its hash');
  const { hash, service } = data;
  return { hash, madeAt: new Date(data.made_at), teamId: BigInt(data.team.id), service, rows };
}

/** @throws MusterdError `usage` if the plan is of another team or another service */
export function requireOurs({ teamId, service }: PlanFile, config: Pick<Config, 'service'>, ours: Id): void {
  if (teamId !== ours) throw unfit(`it is of team ${teamId}, and this is team ${ours}`);
  if (service !== addressOf(config)) throw unfit(`it is of the service at ${service}`);
}

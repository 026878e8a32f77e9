/** A plan as a file, to be looked at and applied later: exactly its rows, for this team of this service, once. */
import { createHash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import { columnOf } from '../model/field-values.ts';
import type { Id } from '../model/id.ts';
import { type Field, fields, type ServiceValue } from '../model/user.ts';
import type { FieldValue } from '../model/user-plan.ts';
import { sendableOf } from '../reconcile/exactly.ts';
import { type BatchRow, hashOf } from '../reconcile/guard/batch-hash.ts';
import type { PlanReport } from './reconcile-team.ts';

/** A row of the file; ids are text, so that nothing rounds them. */
interface FileRow {
  readonly user_id: string;
  readonly name: string;
  readonly field: string;
  readonly base?: FieldValue;
  readonly service?: Exclude<ServiceValue, undefined>;
  readonly mirror?: FieldValue;
}

interface FileBody {
  readonly musterd_plan: 1;
  readonly team: { readonly id: string; readonly name: string | null };
  readonly service: string;
  /** By the clock of the mirror's database. */
  readonly made_at: string;
  readonly hash: string;
  readonly changes: readonly FileRow[];
}

/** What is read out of the file. */
export interface PlanFile {
  /** Of these rows, as "musterd plan" showed it: what it names is applied once, unless a later plan has it again. */
  readonly hash: string;
  readonly madeAt: Date;
  readonly teamId: Id;
  readonly service: string;
  readonly rows: readonly (BatchRow & { readonly name: string })[];
}

const addressOf = ({ service: { baseUrl = '' } }: Pick<Config, 'service'>): string =>
  URL.canParse(baseUrl) ? new URL(baseUrl).href : baseUrl;

const checksumOf = (body: object): string => createHash('sha256').update(JSON.stringify(body)).digest('hex');

const inText = <Value>(value: Value) => (typeof value === 'bigint' ? String(value) : value) as Value;

/** What the plan is called: other rows, fields, values or bases make another hash. */
export const planHash = ({ users }: Pick<PlanReport, 'users'>): string => hashOf(sendableOf(users));

/** @param nameOf a user, for whoever reads the file; `madeAt` is by the clock of the mirror's database */
export function encodePlan(
  report: Pick<PlanReport, 'team' | 'users'>,
  { service }: Pick<Config, 'service'>,
  { madeAt, nameOf }: { readonly madeAt: Date; readonly nameOf: (id: Id) => string },
): string {
  const rows = sendableOf(report.users);
  const body: FileBody = {
    musterd_plan: 1,
    team: { id: String(report.team.id), name: report.team.name },
    service: addressOf({ service }),
    made_at: madeAt.toISOString(),
    hash: hashOf(rows),
    changes: rows.map(({ userId, field, values: { base, service, mirror } }) => ({
      user_id: String(userId),
      name: nameOf(userId),
      field: columnOf(field),
      ...(base === undefined ? {} : { base: inText(base) }),
      ...(service === undefined ? {} : { service: inText(service) }),
      ...(mirror === undefined ? {} : { mirror: inText(mirror) }),
    })),
  };
  return `${JSON.stringify({ ...body, checksum: checksumOf(body) }, undefined, 2)}\n`;
}

const unfit = (why: string) =>
  new MusterdError('usage', `This is no plan that can be applied: ${why}`, {
    hint: 'Make a new one: musterd plan --out plan.json',
  });

function readRow({ user_id: id, name, field: column, ...row }: FileRow): PlanFile['rows'][number] {
  const field = fields.find((one) => columnOf(one) === column) as Field;
  const exactOf = <Value>(value: Value) =>
    (field === 'roleId' && typeof value === 'string' ? BigInt(value) : value) as Value;
  const { base, service, mirror } = row;
  const values = { base: exactOf(base), service: exactOf(service), mirror: exactOf(mirror) };
  return { userId: BigInt(id), name, field, values };
}

/** @throws MusterdError `usage` for what is no plan, or was altered since it was written */
export function decodePlan(text: string): PlanFile {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new MusterdError('usage', 'This is no plan: it is not JSON', { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || !('musterd_plan' in parsed))
    throw unfit('it was not written by "musterd plan --out"');
  const { checksum, ...body } = parsed as FileBody & { readonly checksum?: unknown };
  if (checksum !== checksumOf(body)) throw unfit('it was altered since it was written');
  if (body.musterd_plan !== 1) throw unfit('another version of musterd wrote it');
  const rows = body.changes.map(readRow);
  // The checksum is nobody's signature: what people agreed to is what the rows come to.
  if (body.hash !== hashOf(rows)) throw unfit('its rows are not those of its hash');
  const { hash, service } = body;
  return { hash, madeAt: new Date(body.made_at), teamId: BigInt(body.team.id), service, rows };
}

/** @throws MusterdError `usage` where it is of another team, or of another service */
export function requireOurs({ teamId, service }: PlanFile, config: Pick<Config, 'service'>, ours: Id): void {
  if (teamId !== ours) throw unfit(`it is of team ${teamId}, and this is team ${ours}`);
  if (service !== addressOf(config)) throw unfit(`it is of the service at ${service}`);
}

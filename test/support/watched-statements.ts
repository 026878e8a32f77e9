import { type RawBuilder, sql } from 'kysely';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { type SeenMessages, seeMessages } from './postgres-proxy.ts';

/** One step of a plan, and how many rows it looked at in all its loops, whether they were of use or not. */
export interface Step {
  readonly node: string;
  readonly relation: string | undefined;
  readonly rows: number;
}

/** A statement that was carried out, also one that a trigger or a foreign key sent. */
export interface Watched {
  readonly text: string;
  readonly steps: readonly Step[];
}

export type StatementWatch = SeenMessages<Watched>;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
  readonly [detail: string]: unknown;
}

const settings = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
};

function stepsOf(node: PlanNode): readonly Step[] {
  const removed = Object.entries(node)
    .filter(([key]) => key.startsWith('Rows Removed by'))
    .reduce((sum, [, rows]) => sum + Number(rows), 0);
  const rows = (node['Actual Rows'] + removed) * node['Actual Loops'];
  const own = { node: node['Node Type'], relation: node['Relation Name'], rows };
  return [own, ...(node.Plans ?? []).flatMap(stepsOf)];
}

/** A notice is fields of one letter and a text each; M is the message. */
function readPlan(message: Buffer): Watched | undefined {
  if (message.toString('latin1', 0, 1) !== 'N') return undefined;
  const fields = message.toString('utf8', 5).split('\0');
  const text = fields.find((field) => field.startsWith('M'))?.slice(1) ?? '';
  const plan = /^duration: .* plan:\n(?<json>[\s\S]*)$/.exec(text)?.groups?.['json'];
  if (plan === undefined) return undefined;
  const read = JSON.parse(plan) as { readonly 'Query Text': string; readonly Plan: PlanNode };
  return { text: read['Query Text'], steps: stepsOf(read.Plan) };
}

/** How many rows the steps of these statements looked at, those of a trigger's own tables among them. */
export function rowsLookedAt(statements: readonly Watched[], part: string): number {
  return statements
    .filter(({ text }) => text.includes(part))
    .flatMap(({ steps }) => steps)
    .reduce((sum, { rows }) => sum + rows, 0);
}

/** Changes all of the settings for the database, for the sessions that begin from now on. */
async function setAll(
  url: string,
  change: (setting: RawBuilder<unknown>, value: string) => RawBuilder<unknown>,
) {
  const name = new URL(url).pathname.slice(1);
  const admin = createDatabase({ url, applicationName: 'musterd test', maxConnections: 1 });
  try {
    for (const [setting, value] of Object.entries(settings))
      await sql`alter database ${sql.id(name)} ${change(sql.id(...setting.split('.')), value)}`.execute(
        admin.kysely,
      );
  } finally {
    await admin.close();
  }
}

/** Lets Postgres say of each statement how it carried it out, until the watch is closed. The url is a superuser's. */
export async function watchStatements(url: string): Promise<StatementWatch> {
  await setAll(url, (setting, value) => sql`set ${setting} = ${sql.lit(value)}`);
  const seen = await seeMessages(url, 'answers', readPlan);
  return {
    ...seen,
    close: async () => {
      await seen.close();
      await setAll(url, (setting) => sql`reset ${setting}`);
    },
  };
}

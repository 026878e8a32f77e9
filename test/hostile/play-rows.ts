/**
 * Whole runs against a service whose rows are generated, with people who edit the mirror meanwhile. Whatever the rows say, a
 * run ends in words; the mirror has only values that a row of that user had or somebody wrote; and the service is sent only
 * what somebody wrote.
 */
import { inspect } from 'node:util';
import { configSchema } from '../../src/config/config.ts';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import { createRandom } from '../../src/emulator/random.ts';
import { MusterdError } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { alterText, alterValue } from './generate.ts';
import { heapMb, type OnProgress, type Played } from './play-answers.ts';

type Row = Readonly<Record<string, unknown>>;

const columns = ['email', 'phone', 'role_id'] as const;
/** As text; of what is neither a text nor a number as JSON, which no column has. */
const inText = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : `${(value ?? '') as string | number | bigint}`;
const silent = createLog({ level: 'silent' });
/** What the rows of an answer say, however deep they stand in it. */
function rowsIn(value: unknown, found: Row[] = []): readonly Row[] {
  if (typeof value !== 'object' || value === null) return found;
  if (!Array.isArray(value) && 'id' in value) found.push(value as Row);
  for (const inner of Object.values(value)) rowsIn(inner, found);
  return found;
}

/**
 * @param db with the schema in place, and nothing in it
 * @param users of the team, whom each run reads twice: in the team and with their values
 */
export async function playRows(
  db: Database,
  count: number,
  seed: number,
  users: number,
  onProgress: OnProgress = () => undefined,
): Promise<Played> {
  const random = createRandom(seed);
  const emulator = await createEmulator({ http: true, users, tags: 100, fields: 10, ratePerMinute: 0 });
  const {
    MUSTERD_BASE_URL: baseUrl,
    MUSTERD_SECRET_ID: secretId,
    MUSTERD_SECRET_KEY: secretKey,
  } = emulator.environment;
  const config = configSchema.parse({
    service: { baseUrl, secretId, secretKey },
    rate: { perMinute: 1_000_000 },
    push: { quietPeriodMs: 0 },
    guard: { maxRows: 100_000 },
  });
  const played: Played = { answers: 0, outcomes: new Map(), broken: [], heapMb: [] };
  /** Every value that a row or an editor gave, as `id column value`. */
  const given = new Set<string>();
  const written = new Set<string>();
  const note = (id: unknown, column: string, value: unknown) =>
    given.add(`${String(id)} ${column} ${inText(value)}`);
  const sql = async (text: string) => (await runSqlText(db, text)).rows;
  let percent = 0;
  const noteRows = (text: string) => {
    try {
      const rows = rowsIn(JSON.parse(text));
      for (const row of rows) for (const column of columns) note(row['id'], column, row[column]);
      played.answers += rows.length;
    } catch {
      // Nobody can have read it either.
    }
  };
  emulator.rewrite({ times: 'always' }, (text) => {
    const how = percent === 0 ? 9 : random.between(0, 9);
    let altered = text;
    if (how < 7)
      altered = JSON.stringify(
        alterValue(JSON.parse(text), random, how < 2, how < 2 ? percent / 50 : percent),
      );
    else if (how === 7) altered = alterText(text, random);
    noteRows(altered);
    return altered;
  });
  const edit = async (at: number) => {
    const { id } = random.pick(emulator.team.users());
    const phone = `1555${1_000_000 + at}`;
    note(id, 'phone', phone);
    written.add(`${id} phone ${phone}`);
    await sql(`update mirror.users set phone = '${phone}' where id = ${id}`);
  };
  for (let run = 0; played.answers < count; run += 1) {
    // The first run finds a sound team; now and then there is another.
    percent = run % 10 === 0 ? 0 : random.pick([0.05, 0.5, 3]);
    for (let at = 0; at < 3 && run > 0; at += 1) await edit(run * 10 + at);
    let outcome: string;
    try {
      const { outcome: ended } = await runReconcile(db, config, 'reconcile', { log: silent });
      outcome = ended;
    } catch (error) {
      outcome = error instanceof MusterdError ? error.code : 'unexpected';
      if (!(error instanceof MusterdError)) played.broken.push(`run ${run}: ${inspect(error)}`);
      if (inspect(error, { depth: 8 }).includes(secretKey ?? '-'))
        played.broken.push(`run ${run}: it said a secret`);
    }
    played.outcomes.set(outcome, (played.outcomes.get(outcome) ?? 0) + 1);
    for (const { path, body } of emulator.requests) {
      if (path !== '/v1/users/update') continue;
      for (const { id, ...sent } of (body as { readonly users: readonly Row[] }).users) {
        const strange = Object.entries(sent).filter(
          ([key, value]) => !written.has(`${String(id)} ${key} ${String(value)}`),
        );
        if (strange.length > 0)
          played.broken.push(`run ${run}: sent for ${String(id)}: ${JSON.stringify(strange)}`);
      }
    }
    emulator.clearRequests();
    for (const [id, ...had] of await sql(`select id, ${columns.join(', ')} from mirror.users`)) {
      for (const [at, column] of columns.entries()) {
        if (!given.has(`${String(id)} ${column} ${inText(had[at])}`))
          played.broken.push(`run ${run}: the mirror has ${String(id)} ${column} ${inspect(had[at])}`);
      }
    }
    onProgress(played);
    if (played.answers > count / 10 && played.heapMb.length === 0) played.heapMb.push(heapMb());
  }
  played.heapMb.push(heapMb());
  await emulator.close();
  return played;
}

import { afterAll, onTestFinished } from 'vitest';
import type { RunReport } from '../../src/runs/sync/run-record.ts';
import { type PlanReport, runPlan, runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { type Config, configSchema } from '../../src/config/config.ts';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import { createLog } from '../../src/log.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import type { UserRecord } from '../../src/emulator/rules/played-team.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import type { TestServer } from '../support/servers.ts';
import { createShelf, type Shelf } from './agreed/back-up.ts';
import { runMusterd } from './run-musterd.ts';

type Overrides = Partial<{ [Section in keyof Config]: Partial<Config[Section]> | Config[Section] }>;

export interface StageOptions {
  readonly server?: TestServer;
  readonly emulator?: EmulatorOptions;
  readonly config?: Overrides;
}

/** Somebody on the service, in all fields. */
export type Reachable = UserRecord & { readonly email: string; readonly phone: string };

/** An emulated service and a mirror of its own, and what a test does with them. */
export interface Stage {
  readonly emulator: Emulator;
  readonly db: Database;
  readonly url: string;
  /** What a command needs to know of both. */
  readonly env: Readonly<Record<string, string>>;
  readonly config: Config;
  run(overrides?: Overrides): Promise<RunReport>;
  plan(): Promise<PlanReport>;
  /** Rows as arrays of text, as psql shows them. */
  sql(text: string): Promise<readonly (readonly string[])[]>;
  /** The command line within this process, without its log. */
  musterd(...args: readonly string[]): ReturnType<typeof runMusterd>;
  /** The number of runs on record. */
  runs(where?: string): Promise<number>;
  /** Digests of tables, each with a condition perhaps: others after each write of any row. */
  versions(...tables: readonly string[]): Promise<readonly (readonly string[])[]>;
  /** Users with an email, a phone and a name of two words. */
  people(): readonly Reachable[];
  /** @throws Error if there are not so many */
  userAt(at?: number): Reachable;
  /** The writable values of the mirror, by user id. */
  mirrored(): Promise<ReadonlyMap<number, readonly string[]>>;
  /** Bodies of the updates that the service received since the last `clearRequests`. */
  updates(): readonly Readonly<Record<string, unknown>>[];
  close(): Promise<void>;
}

const silent = createLog({ level: 'silent' });

/** As psql shows it. */
export function inText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | bigint | boolean}`;
}

export function configFor(environment: Readonly<Record<string, string>>, overrides: Overrides = {}): Config {
  const {
    MUSTERD_BASE_URL: baseUrl,
    MUSTERD_SECRET_ID: secretId,
    MUSTERD_SECRET_KEY: secretKey,
  } = environment;
  return configSchema.parse({
    service: { baseUrl, secretId, secretKey },
    rate: { perMinute: 1_000_000 },
    push: { quietPeriodMs: 0 },
    ...overrides,
  });
}

const isReachable = (user: UserRecord): user is Reachable =>
  user.email !== null && user.phone !== null && /^\S+ \S+$/.test(`${user.first} ${user.last}`);

/** The address of a database for a login that the test has made. */
export function loginAt(url: string, role: string, password = 'secret'): string {
  const own = new URL(url);
  [own.username, own.password] = [encodeURIComponent(role), password];
  return own.href;
}

export async function createStage(options: StageOptions = {}): Promise<Stage> {
  const database = await createTestDatabase(options.server === undefined ? {} : { server: options.server });
  const stage = await createStageOn(database, options);
  return {
    ...stage,
    close: async () => {
      await database.close();
      await stage.close();
    },
  };
}

/** With a mirror that is there, and stays. */
async function createStageOn(
  { db, url }: Pick<TestDatabase, 'db' | 'url'>,
  options: StageOptions,
): Promise<Stage> {
  const emulator = await createEmulator({
    http: true,
    users: 30,
    tags: 25,
    fields: 12,
    ratePerMinute: 0,
    ...options.emulator,
  });
  const config = configFor(emulator.environment, options.config);
  const sql = async (text: string) => (await runSqlText(db, text)).rows.map((row) => row.map(inText));
  const env = { ...emulator.environment, DATABASE_URL: url };
  const people = () => emulator.team.users().filter(isReachable);
  return {
    emulator,
    db,
    url,
    env,
    config,
    musterd: (...args) => runMusterd(args, { ...env, MUSTERD__log__level: 'silent' }),
    runs: async (where = 'true') =>
      Number((await sql(`select count(*) from sync.runs where ${where}`))[0]?.[0]),
    versions: (...tables) =>
      sql(
        tables
          .map(
            (table) =>
              `select '${table.split(' ')[0]}', md5(string_agg(t::text || t.xmin, ',' order by t::text)) from ${table.replace(/( where|$)/, ' t$1')}`,
          )
          .join(' union all '),
      ),
    people,
    userAt: (at = 0) => {
      const found = people()[at];
      if (found === undefined) throw new Error(`There are not ${at + 1} such users`);
      return found;
    },
    run: (overrides) =>
      runReconcile(
        db,
        overrides === undefined
          ? config
          : configFor(emulator.environment, { ...options.config, ...overrides }),
        'reconcile',
        { log: silent },
      ),
    plan: () => runPlan(db, config, { log: silent }),
    sql,
    mirrored: async () => {
      const rows = await sql(
        'select id, first_name, last_name, email, phone, role_id from mirror.users where gone_at is null',
      );
      return new Map(rows.map(([id, ...values]) => [Number(id), values]));
    },
    updates: () =>
      emulator.requests.flatMap(({ path, body }) =>
        path === '/v1/users/update' ? (body as { users: Readonly<Record<string, unknown>>[] }).users : [],
      ),
    close: () => emulator.close(),
  };
}

/** What the service holds, in the form of `mirrored`, with the pair as somebody set it there. */
export function onService({ emulator }: Pick<Stage, 'emulator'>): ReadonlyMap<number, readonly string[]> {
  return new Map(
    emulator.team
      .users()
      .map(({ id, first, last, email, phone, roleId }) => [
        id,
        [first, last, email ?? '', phone ?? '', String(roleId)],
      ]),
  );
}

export interface Stages {
  /** After a first run: both sides are equal. */
  open(options?: StageOptions): Promise<Stage>;
  close(): Promise<void>;
}

/**
 * Stages for one test after the other. The mirror of one that was closed is put back as its first run left it, and serves
 * the next one with the same options, before a service that is new and has the same users: that takes a tenth of the time.
 * Only rows are put back: a test that makes a function or a trigger drops it.
 */
export function createStages(): Stages {
  const grounds: Ground[] = [];
  const idle = new Map<string, Ground[]>();
  /** None where another process has taken the address of the service meanwhile. */
  const openAgain = async (ground: Ground, { emulator, ...options }: StageOptions) => {
    await ground.shelf.putBack(true);
    return await createStageOn(ground.database, {
      ...options,
      emulator: { ...emulator, port: ground.port },
    }).catch(() => undefined);
  };
  return {
    open: async (options = {}) => {
      const key = JSON.stringify(options);
      const left = idle.get(key)?.pop();
      const again = left === undefined ? undefined : await openAgain(left, options);
      const [ground, stage] =
        left === undefined || again === undefined ? await layGround(options) : [left, again];
      if (ground !== left) grounds.push(ground);
      return {
        ...stage,
        close: async () => {
          await stage.close();
          idle.set(key, [...(idle.get(key) ?? []), ground]);
        },
      };
    },
    close: async () => {
      for (const { database } of grounds) await database.close();
    },
  };
}

/** Stages for the tests of a file or of a `describe`: each is closed once its test has ended. */
export function useStages(): Pick<Stages, 'open'> {
  const stages = createStages();
  afterAll(() => stages.close());
  return {
    open: async (options) => {
      const stage = await stages.open(options);
      onTestFinished(() => stage.close());
      return stage;
    },
  };
}

/** A mirror that can be put back as it is, and the port of its service: to another one the settings would be others. */
interface Ground {
  readonly database: TestDatabase;
  readonly shelf: Shelf;
  readonly port: number;
}

async function layGround(options: StageOptions): Promise<readonly [Ground, Stage]> {
  const database = await createTestDatabase(options.server === undefined ? {} : { server: options.server });
  const stage = await createStageOn(database, options);
  await stage.run();
  stage.emulator.clearRequests();
  const shelf = await createShelf(stage, 'ground');
  await shelf.keep();
  return [{ database, shelf, port: Number(new URL(stage.emulator.url).port) }, stage];
}

import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { embeddedServer } from '../support/servers.ts';
import { runMusterd } from './run-musterd.ts';

type Environment = Readonly<Record<string, string>>;

/** A mirror under an address, or in a folder, and what people do with it; nothing stays connected. */
export interface MirrorAt {
  readonly environment: Environment;
  musterd(...args: readonly string[]): ReturnType<typeof runMusterd>;
  /** As it goes in with `--json`. */
  json(
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly said: Record<string, unknown> }>;
  sql(text: string): Promise<readonly (readonly unknown[])[]>;
  /** An editor's statement about one user. */
  edit(user: number, email: string): Promise<unknown>;
}

/** @param where `DATABASE_URL` or `MUSTERD_DATA_DIR` */
export function mirrorAt(emulator: Emulator, where: Environment, settings: Environment = {}): MirrorAt {
  const environment = {
    ...emulator.environment,
    MUSTERD__log__level: 'silent',
    ...where,
    ...settings,
  };
  const musterd = (...args: readonly string[]) => runMusterd(args, environment);
  const sql = async (text: string) => {
    const url = where['DATABASE_URL'] ?? '';
    const db = createDatabase({ url, applicationName: 'musterd test', maxConnections: 1 });
    try {
      return (await runSqlText(db, text)).rows;
    } finally {
      await db.close();
    }
  };
  return {
    environment,
    musterd,
    json: async (...args) => {
      const { code, stdout } = await musterd(...args, '--json');
      return { code, said: JSON.parse(stdout) as Record<string, unknown> };
    },
    sql,
    edit: async (user, email) => {
      const statement = `update mirror.users set email = '${email}' where id = ${user}`;
      if (where['DATABASE_URL'] !== undefined) return await sql(statement);
      return await musterd('sql', '--write', statement);
    },
  };
}

/** A copy of a mirror on the embedded server, made as from a template: nobody may be connected. */
export const copyDatabase = (url: string): Promise<TestDatabase> =>
  createTestDatabase({ server: { ...embeddedServer(), template: new URL(url).pathname.slice(1) } });

/** A service, and what it was sent. */
export async function createService() {
  const emulator = await createEmulator({ http: true, users: 30, tags: 5, fields: 3, ratePerMinute: 0 });
  return {
    emulator,
    updates: () => emulator.requests.filter(({ path }) => path === '/v1/users/update').length,
    emailOf: (id: number) => emulator.team.user(id).email,
    /** Users with an address, whom no test has had yet. */
    users: emulator.team
      .users()
      .filter(({ email }) => email !== null)
      .map(({ id }) => id)
      .values(),
  };
}

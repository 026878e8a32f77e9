/** A team, and people who edit and decide with roles of their own: what they may do, they do in SQL. */
import { randomBytes } from 'node:crypto';
import { createDatabase } from '../../../src/mirror/db/database.ts';
import { runSqlText } from '../../../src/mirror/db/sql-text.ts';
import type { Config } from '../../../src/config/config.ts';
import { runMusterd } from '../run-musterd.ts';
import { createStages, loginAt, type Stage, type StageOptions } from '../stage.ts';

type Rows = readonly (readonly unknown[])[];

export interface Person {
  readonly role: string;
  sql(text: string): Promise<Rows>;
  /** @param values such as `email = 'a@example.com'` */
  edit(id: number, values: string): Promise<void>;
  /** @returns the outcomes, one for each field */
  approve(batch: string): Promise<readonly unknown[]>;
  reject(batch: string): Promise<readonly unknown[]>;
}

export interface Team extends Stage {
  /** May edit. */
  readonly bob: Person;
  /** May edit and decide. */
  readonly mallory: Person;
  /** May decide. */
  readonly carol: Person;
  /** Users with an address, a phone and a name of two words, who administrate nothing. */
  readonly ids: readonly number[];
  /** Somebody else, until the team is closed. @param name may have spaces around it */
  person(name: string, ...roles: readonly string[]): Promise<Person>;
  /** `[user, field, reason]` of everything that is held. */
  held(): Promise<readonly (readonly string[])[]>;
  /** The batch in which this edit waits; empty: none. */
  batchOf(id: number, field?: string): Promise<string>;
  environment(): Record<string, string>;
  musterd(...args: readonly string[]): ReturnType<typeof runMusterd>;
}

const editor = ['musterd_editor', 'musterd_role_editor'];
const approver = ['musterd_approver'];

function createPerson(url: string, role: string): Person & { close(): Promise<void> } {
  const db = createDatabase({ url: loginAt(url, role), applicationName: 'musterd test', maxConnections: 1 });
  const sql = async (text: string) => (await runSqlText(db, text)).rows;
  const decide = async (verb: string, batch: string) => {
    const decided = await sql(
      `select d.outcome from sync.${verb}('${batch}', reason => 'a test') d order by d.user_id, d.field`,
    );
    return decided.map(([outcome]) => outcome);
  };
  return {
    role,
    sql,
    edit: async (id, values) => {
      await sql(`update mirror.users set ${values} where id = ${id}`);
    },
    approve: async (batch) => await decide('approve', batch),
    reject: async (batch) => await decide('reject', batch),
    close: () => db.close(),
  };
}

export interface TeamOptions extends Omit<StageOptions, 'server'> {
  readonly push?: Partial<Config['push']>;
}

/** Teams for one test after the other. */
export interface Teams {
  /** Both sides are equal. Every edit is seen first, and by somebody else, unless `push` says otherwise. */
  open(options?: TeamOptions): Promise<Team>;
  close(): Promise<void>;
}

/** Roles that may log in to this database, until they are dropped. */
function createRoles({ db, url }: Pick<Stage, 'db' | 'url'>) {
  const suffix = randomBytes(4).toString('hex');
  const people: ReturnType<typeof createPerson>[] = [];
  return {
    person: async (name: string, ...roles: readonly string[]): Promise<Person> => {
      const [, before = '', word = '', after = ''] = /^( *)(.*?)( *)$/.exec(name) ?? [];
      const role = `${before}${word}_${suffix}${after}`;
      await runSqlText(db, `create role "${role}" login password 'secret' in role ${roles.join(', ')}`);
      const made = createPerson(url, role);
      people.push(made);
      return made;
    },
    drop: async () => {
      for (const one of people) await one.close();
      if (people.length > 0)
        await runSqlText(db, people.map(({ role }) => `drop role if exists "${role}"`).join(';'));
    },
  };
}

export function createTeams(): Teams {
  const stages = createStages();
  const trios = new Map<string, Trio>();
  return {
    open: async ({ push, emulator, config } = {}) => {
      const stage = await stages.open({
        emulator: { users: 30, tags: 3, fields: 1, ...emulator },
        config: { ...config, push: { quietPeriodMs: 0, approve: 'always', fourEyes: true, ...push } },
      });
      const trio = trios.get(stage.url) ?? (await createTrio(stage));
      trios.set(stage.url, trio);
      const roles = createRoles(stage);
      return {
        ...createTeamOn(stage, trio, roles.person),
        close: async () => {
          await roles.drop();
          await stage.close();
        },
      };
    },
    close: async () => {
      for (const { drop } of trios.values()) await drop();
      await stages.close();
    },
  };
}

type Trio = Awaited<ReturnType<typeof createTrio>>;

/** The three of one mirror, whichever team it serves. */
async function createTrio(stage: Stage) {
  const { person, drop } = createRoles(stage);
  return {
    bob: await person('bob', ...editor),
    mallory: await person('mallory', ...editor, ...approver),
    carol: await person('carol', ...approver),
    drop,
  };
}

function createTeamOn(stage: Stage, { bob, mallory, carol }: Trio, person: Team['person']): Team {
  const held = (what: string, where = 'true') =>
    stage.sql(`select ${what} from report.held where ${where} order by user_id, field`);
  const environment = (): Record<string, string> => ({
    ...stage.env,
    MUSTERD__push__quietPeriodMs: '0',
    MUSTERD__push__approve: stage.config.push.approve,
    MUSTERD__push__fourEyes: String(stage.config.push.fourEyes),
    MUSTERD__log__level: 'silent',
  });
  return {
    ...stage,
    bob,
    mallory,
    carol,
    ids: stage.people().flatMap(({ id, roleId }) => (roleId === 4 ? [id] : [])),
    person,
    held: () => held(`user_id, field, case state when 'rejected' then state else reason end`),
    batchOf: async (id, field = 'email') =>
      (await held('batch', `user_id = ${id} and field = '${field}'`))[0]?.[0] ?? '',
    environment,
    musterd: (...args) => runMusterd(args, environment()),
  };
}

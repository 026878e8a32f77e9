/** A plan beside the comparison that one SQL statement makes of the same users: row 5. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, unguarded, unlimited } from './bench.ts';
import { copy, copyText } from './copy.ts';
import { measureProcess } from './measure-process.ts';
import type { BenchDatabase } from './postgres.ts';
import type { Service } from './service.ts';

const columns = [
  'id',
  'name',
  'email',
  'phone',
  'role_id',
  'created_at',
  'updated_at',
  'user_created_at',
  'user_updated_at',
];

/** Stages everybody and finds in one statement who differs, from the mirror or from the base. */
const comparison = {
  before: [
    `create temporary table staged (id bigint primary key, name text, email text, phone text, role_id bigint,
      created_at timestamptz, updated_at timestamptz, user_created_at timestamptz, user_updated_at timestamptz)`,
  ],
  into: 'staged',
  after: [
    `create temporary table differing as
     select s.id from staged s
     left join mirror.users u on u.id = s.id left join sync.user_base b on b.team_id = u.team_id and b.id = s.id
     where u.id is null or b.id is null
       or (u.first_name, u.last_name, u.email, u.phone, u.role_id)
          is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
       or (s.name, s.email, s.phone, s.role_id) is distinct from (b.name, b.email, b.phone, b.role_id)
       or (u.created_at, u.updated_at, u.user_created_at, u.user_updated_at)
          is distinct from (s.created_at, s.updated_at, s.user_created_at, s.user_updated_at)`,
  ],
};

type Wire = Readonly<Record<string, unknown>>;

async function readUsers({ environment }: Service): Promise<readonly Wire[]> {
  const { request } = await import('undici');
  const answer = await request(`${environment['MUSTERD_BASE_URL']}/v1/users/get`, {
    method: 'GET',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const { memberships } = (await answer.body.json()) as { readonly memberships: readonly Wire[] };
  return memberships;
}

interface Stage {
  readonly bench: Bench;
  readonly service: Service;
  readonly folder: string;
}

/** Edits one user of a hundred on each side, and plans. */
export async function planAgainstSql(
  { bench, service, folder }: Stage,
  database: BenchDatabase,
  mark: string,
): Promise<{ readonly planMs: number; readonly sqlMs: number }> {
  await service.editEvery(100, mark);
  await database.sql(
    `update mirror.users set phone = '1555' || lpad((id % 10000000)::text, 7, '0') where id % 100 = 7 and resolved`,
  );
  const env = { ...service.environment, ...unlimited, ...unguarded, DATABASE_URL: database.url };
  const { wallMs } = await measureProcess(bench.musterd, ['plan', '--json'], env, [0, 2]);
  const file = join(folder, 'users.copy');
  const users = await readUsers(service);
  writeFileSync(
    file,
    users
      .map(
        (user) =>
          `${columns.map((column) => copyText(user[column] === '' ? null : user[column])).join('\t')}\n`,
      )
      .join(''),
  );
  const { ms } = await copy(database, { ...comparison, file });
  return { planMs: wallMs, sqlMs: ms };
}

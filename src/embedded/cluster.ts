import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, asAccount, CHILD_ENVIRONMENT, makeFresh } from './account.ts';

/** A data folder, the programs for it, and the account that they run as (`undefined`: the account of this process). */
export interface Place {
  readonly folder: string;
  readonly bindir: string;
  readonly account: Account | undefined;
  /** True for a server that is faster but not safe from power loss. Its folder is deleted when the process ends. */
  readonly ephemeral: boolean;
}

/** The role that owns everything in an embedded server, and the name of its database. */
export const OWNER = 'musterd';

/** The value of PGDATA. */
export const dataOf = (folder: string) => join(folder, 'cluster/data');
export const hasCluster = (folder: string) => fs.existsSync(join(dataOf(folder), 'PG_VERSION'));

/** A password file for libpq (PGPASSFILE), mode 0600. It is created together with the data directory. */
export const passwordFileOf = (folder: string) => join(folder, 'cluster/pgpass');

/** Finds or creates the cluster of a data folder, and returns its password. Several processes can do so at once. */
export async function openCluster(place: Place, onProgress: (step: string) => void): Promise<string> {
  const { folder, account } = place;
  if (!asAccount(account, () => hasCluster(folder))) {
    onProgress('creating the database');
    await create(place);
  }
  const line = asAccount(account, () => fs.readFileSync(passwordFileOf(folder), 'utf8'));
  return line.trim().split(':').at(-1) ?? '';
}

async function create(place: Place): Promise<void> {
  const { folder, account } = place;
  const as = <T>(work: () => T) => asAccount(account, work);
  const fresh = as(() => makeFresh(folder, 'cluster.new-'));
  const [data, plain] = [join(fresh, 'data'), join(fresh, 'password')];
  const password = randomBytes(18).toString('base64url');
  try {
    as(() => {
      fs.writeFileSync(join(fresh, 'pgpass'), `127.0.0.1:*:*:${OWNER}:${password}\n`, { mode: 0o600 });
      fs.writeFileSync(plain, password, { mode: 0o600 });
    });
    await initialise(place, data, plain);
    as(() => {
      fs.rmSync(plain);
      fs.appendFileSync(join(data, 'postgresql.conf'), SETTINGS);
      fs.renameSync(fresh, join(folder, 'cluster'));
    });
  } catch (error) {
    as(() => fs.rmSync(fresh, { recursive: true, force: true }));
    // If another process has created the cluster first, that cluster is used.
    if (!as(() => hasCluster(folder))) throw error;
  }
}

/** Settings for a small server. For a larger one, an administrator can edit the file. */
const SETTINGS = `
# musterd
shared_buffers = 64MB
max_connections = 50
timezone = 'UTC'
log_timezone = 'UTC'
log_checkpoints = off
`;

/** No other role can connect to the database `postgres`, because it could take the lock there (own-client.ts). */
const STATEMENTS = `create database ${OWNER}\nrevoke connect on database postgres from public\n`;

async function initialise(place: Place, data: string, passwordFile: string): Promise<void> {
  const common = { ...place.account, cwd: '/', env: CHILD_ENVIRONMENT };
  const run = async (program: string, args: readonly string[]) => {
    const ended = promisify(execFile)(join(place.bindir, program), args, common);
    ended.child.stdin?.on('error', () => undefined).end(STATEMENTS);
    return (await ended).stdout;
  };
  // Postgres has had this locale since 17. It sorts in the same way on every machine.
  const locale = / 1[56]\./.test(await run('initdb', ['--version']))
    ? ['--locale=C.UTF-8']
    : ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const options = ['-U', OWNER, '-A', 'scram-sha-256', '--pwfile', passwordFile, '-E', 'UTF8', ...locale];
  await run('initdb', ['-D', data, ...options, ...(place.ephemeral ? ['-N'] : [])]);
  const single = ['--single', '-D', data, '-c', 'exit_on_error=on', ...(place.ephemeral ? ['-F'] : [])];
  await run('postgres', [...single, 'postgres']);
}

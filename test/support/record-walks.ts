/**
 * The way of a value through the code, as it ran: the named functions of src that a process of `musterd reconcile`
 * called, in the order of their first call.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import { runMusterd } from '../system/run-musterd.ts';

const inCheckout = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export interface Call {
  /** Under src. */
  readonly file: string;
  readonly name: string;
}

export interface Walk {
  readonly title: string;
  readonly story: string;
  readonly calls: readonly Call[];
}

/** Runs the command from source. @returns what it called @throws with its messages if it fails */
async function record(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly Call[]> {
  const folder = mkdtempSync(join(tmpdir(), 'musterd-walk-'));
  const calls = join(folder, 'calls');
  try {
    const recorder = inCheckout('test/support/record-calls.ts');
    const child = spawn(process.execPath, ['--import', recorder, inCheckout('src/main.ts'), ...args], {
      env: { HOME: folder, NO_COLOR: '1', ...env, RECORDED_CALLS: calls },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const messages: Buffer[] = [];
    child.stderr.on('data', (chunk: Buffer) => messages.push(chunk));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    if (code !== 0)
      throw new Error(`musterd ${args.join(' ')} ended with ${code}: ${Buffer.concat(messages).toString()}`);
    const lines = readFileSync(calls, 'utf8').trimEnd().split('\n');
    return lines.map((line) => {
      const [file = '', name = ''] = line.split(' ');
      return { file, name };
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Plays both walks on an empty database. @param url of the database */
export async function recordWalks(url: string): Promise<readonly Walk[]> {
  const emulator = await createEmulator({ http: true, users: 30, ratePerMinute: 0 });
  try {
    const [id = 0] = emulator.team.users().map((user) => user.id);
    const environment = { ...emulator.environment, DATABASE_URL: url };
    const musterd = async (...args: readonly string[]) => {
      const { code, stderr } = await runMusterd(args, environment);
      if (code !== 0) throw new Error(`musterd ${args.join(' ')} ended with ${code}: ${stderr}`);
    };
    const reconcile = async () => {
      // Otherwise it would depend on the time between the runs whether one of them waits for its turn.
      await musterd('sql', '--write', "delete from sync.learned where topic = 'pace'");
      return await record(['reconcile'], environment);
    };
    // The second run finds both sides at rest.
    for (const _ of [1, 2]) await musterd('reconcile');
    emulator.team.editUser(id, { phone: '15550100' });
    const pulled = await reconcile();
    await musterd('reconcile');
    await musterd('sql', '--write', `update mirror.users set phone = '15550123' where id = ${id}`);
    const pushed = await reconcile();
    return [
      {
        title: 'A user is pulled',
        story:
          'Somebody changes a phone number on the service, and `musterd reconcile` brings it into `mirror.users`.',
        calls: pulled,
      },
      {
        title: 'A user is pushed',
        story:
          'Somebody changes a phone number in `mirror.users`, and `musterd reconcile` sends it to the service.',
        calls: pushed,
      },
    ];
  } finally {
    await emulator.close();
  }
}

/** Functions and files on the way, and how often it comes back to a file that it had left. */
export function measureWalk({ calls }: Walk): {
  readonly functions: number;
  readonly files: number;
  readonly returns: number;
} {
  const entered = calls.filter(({ file }, at) => file !== calls[at - 1]?.file);
  const files = new Set(calls.map(({ file }) => file)).size;
  return { functions: calls.length, files, returns: entered.length - files };
}

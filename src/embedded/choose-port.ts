/** Chooses the server's port, which is the same at each start, so that saved connections stay valid. */
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Account, asAccount } from './account.ts';

interface PortOptions {
  readonly cluster: { readonly data: string; readonly portFile: string };
  readonly account: Account | undefined;
  readonly ephemeral: boolean;
  readonly onWarning: (words: string) => void;
}

/** Ms for which another process may occupy a port just to check whether it is free. */
const patienceMs = 1_000;

/** The range is below that of ephemeral ports. */
const [lowest, highest] = [20_000, 30_000];

/**
 * The port of the first start, or another one as long as that is taken.
 * @param isStarted whether another process has started the server meanwhile
 * @returns `undefined` if one has
 */
export async function choosePort(
  options: PortOptions,
  isStarted: () => boolean,
): Promise<number | undefined> {
  const { account, cluster, ephemeral } = options;
  if (ephemeral) return anyPort();
  const seen = () => asAccount(account, isStarted);
  const kept = asAccount(account, () => readKept(cluster.portFile)) ?? (await choose(options));
  for (const deadline = performance.now() + patienceMs; ; ) {
    if (seen()) return undefined;
    if (await isFree(kept)) return kept;
    if (seen()) return undefined;
    if (performance.now() > deadline) break;
    await delay(50);
  }
  const other = await anyPort();
  options.onWarning(
    `port ${kept}, where the embedded Postgres used to listen, is taken: until its next start it listens on ${other}; the number in ${cluster.portFile} names another one for good`,
  );
  return other;
}

function readKept(file: string): number | undefined {
  if (!existsSync(file)) return undefined;
  const port = Number(readFileSync(file, 'utf8').trim());
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** If several processes choose concurrently, the first choice counts. */
async function choose({ account, cluster }: PortOptions): Promise<number> {
  const chosen = await anyPort();
  return asAccount(account, () => {
    try {
      writeFileSync(cluster.portFile, `${chosen}\n`, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const kept = readKept(cluster.portFile);
      if (kept !== undefined) return kept;
      // The file is unreadable, so it is written anew.
      writeFileSync(cluster.portFile, `${chosen}\n`);
    }
    return chosen;
  });
}

/** A free port of the range: the system gives it to nobody else before the server takes it. */
async function anyPort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  const isListening = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (isListening) await new Promise((resolve) => probe.close(resolve));
  return isListening;
}

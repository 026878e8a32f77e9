import { mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MusterdError } from '../errors.ts';
import { type Account, asAccount, dataFolder, dataFolders, giveFolder } from './account.ts';
import { findBinaries } from './binaries.ts';
import { type Cluster, isCluster, OWNER, openCluster } from './cluster.ts';
import { isPostmaster } from './postmaster.ts';
import { enter, type Attachment } from './attachment.ts';
import { type PostgresServer, type ServerOptions, startServer } from './postgres-server.ts';

export interface EmbeddedOptions {
  /** The data folder; by default MUSTERD_DATA_DIR or the usual place (`dataFolder`). */
  readonly dataDir?: string | undefined;
  /** Whether to use a folder that is deleted with `close` or with the process. It is not safe from power loss. */
  readonly ephemeral?: boolean | undefined;
  /** The programs of an installed Postgres, instead of those from npm. */
  readonly bindir?: string | undefined;
  /** How long `close` waits for other musterd processes that use the server, in ms. */
  readonly closePatienceMs?: number | undefined;
  /** Whether the server, if it was already running, may be stopped without waiting for this process, as for psql. */
  readonly isGuest?: boolean | undefined;
  /** Called for steps that take a while, such as "unpacking Postgres 18.4". */
  readonly onProgress?: ((step: string) => void) | undefined;
  /** Called with notes that are not errors, such as another port. */
  readonly onWarning?: ((words: string) => void) | undefined;
}

export interface Embedded {
  /** The URL for `createDatabase`, with the password. */
  readonly url: string;
  /** The same without the password. */
  readonly shownUrl: string;
  readonly dataDir: string;
  /** Whether another process started the server. */
  readonly attached: boolean;
  /** A command that connects to the mirror. It reads the password from a file. */
  readonly psqlCommand: string;
  /**
   * Call it after closing your own databases. The process that started the server waits until no other musterd uses it,
   * or the wait times out, and stops it. A process that attached only leaves, unless it is the last.
   */
  close(): Promise<void>;
}

interface RunningServer {
  readonly server: PostgresServer;
  readonly presence: Attachment;
  readonly started: boolean;
}

/** Whether there is a mirror to open. None is created. */
export function hasMirror(dataDir: string | undefined): boolean {
  const folders = dataDir === undefined ? dataFolders() : [resolve(dataDir)];
  return folders.some((folder) => isCluster(join(folder, 'cluster')));
}

/**
 * A real Postgres server next to this process, on loopback: starts it, or attaches to the one that another
 * musterd process runs on the same data folder. The first use unpacks the server and creates the
 * database. Rejects with `MusterdError('mirror')`, whose hint is often to set DATABASE_URL.
 */
export async function openEmbedded(options: EmbeddedOptions = {}): Promise<Embedded> {
  try {
    return await open(options);
  } catch (error) {
    if (error instanceof MusterdError) throw error;
    const words = error instanceof Error ? error.message : String(error);
    throw new MusterdError('mirror', `The embedded Postgres could not be opened: ${words}`, {
      hint: 'Check who owns that folder, or set MUSTERD_DATA_DIR to another, or DATABASE_URL.',
      cause: error,
    });
  }
}

async function open(options: EmbeddedOptions): Promise<Embedded> {
  const onProgress = options.onProgress ?? (() => undefined);
  const ephemeral = options.ephemeral === true;
  const binaries = findBinaries(options.bindir, onProgress);
  const { folder, account } = prepareFolder(options);
  try {
    const cluster = await openCluster(folder, binaries, { account, ephemeral, onProgress });
    const { onWarning = () => {} } = options;
    const found = await startAndEnter({ folder, cluster, binaries, account, ephemeral, onWarning });
    if (options.isGuest === true && !found.started) await found.presence.end();
    return describe(options, { folder, account }, cluster, found);
  } catch (error) {
    if (ephemeral) remove(folder, account);
    throw error;
  }
}

/** A data folder, and the account of its server, which is `undefined` for our own. */
interface Place {
  readonly folder: string;
  readonly account: Account | undefined;
}

/** The content may belong to the account, but only root can write to the parent folder. */
function remove(folder: string, account: Account | undefined): void {
  asAccount(account, () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  });
  rmdirSync(folder);
}

function prepareFolder(options: EmbeddedOptions): Place {
  if (options.ephemeral !== true) {
    const folder = options.dataDir === undefined ? dataFolder() : resolve(options.dataDir);
    return { folder, account: giveFolder(folder) };
  }
  const bases = [...new Set([tmpdir(), '/tmp'])];
  for (const [index, base] of bases.entries()) {
    const folder = mkdtempSync(join(base, 'musterd-ephemeral-'));
    try {
      return { folder, account: giveFolder(folder) };
    } catch (error) {
      rmdirSync(folder);
      // The server often has no access to root's TMPDIR.
      if (index === bases.length - 1) throw error;
    }
  }
  throw new MusterdError('mirror', 'There is no folder for temporary files.');
}

const TRIES = 20;

/** A running server may be about to stop, or may stop before we have attached. */
async function startAndEnter(options: ServerOptions): Promise<RunningServer> {
  const { data } = options.cluster;
  let ownPid: number | undefined;
  for (let tries = 1; ; tries += 1) {
    const { server, started } = await startServer(options);
    if (started) ownPid = server.pid;
    try {
      const presence = await enter(options.cluster, server.port, () => isPostmaster(server.pid, data));
      return { server, presence, started: server.pid === ownPid };
    } catch (error) {
      if (tries < TRIES) {
        await delay(20 * tries);
        continue;
      }
      if (server.pid === ownPid) await server.stop();
      const words = error instanceof Error ? error.message : String(error);
      throw new MusterdError('mirror', `The embedded Postgres refuses our login: ${words}`, {
        hint: `See ${join(options.folder, 'server.log')}.`,
        cause: error,
      });
    }
  }
}

function describe(
  options: EmbeddedOptions,
  { folder, account }: Place,
  cluster: Cluster,
  found: RunningServer,
): Embedded {
  const { server, presence, started } = found;
  const close = async () => {
    if (options.isGuest === true && !started) return;
    const alone = await presence.waitAlone(started ? (options.closePatienceMs ?? 30_000) : 0);
    // The server is stopped before leaving, because in between another process could attach.
    if (started || alone) await server.stop();
    await presence.end();
    if (options.ephemeral === true) remove(folder, account);
  };
  let closing: Promise<void> | undefined;
  return {
    url: `postgres://${OWNER}:${cluster.password}@127.0.0.1:${server.port}/${OWNER}?sslmode=disable`,
    shownUrl: `postgres://${OWNER}@127.0.0.1:${server.port}/${OWNER}?sslmode=disable`,
    dataDir: folder,
    attached: !started,
    psqlCommand: `PGPASSFILE=${quote(cluster.passwordFile)} psql -h 127.0.0.1 -p ${server.port} -U ${OWNER} ${OWNER}`,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Quotes a text for a shell. */
function quote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

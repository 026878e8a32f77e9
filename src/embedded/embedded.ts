import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MusterdError } from '../errors.ts';
import { asAccount, foldersOf, giveFolder, usableFolder } from './account.ts';
import { findBinaries } from './binaries.ts';
import { hasCluster, OWNER, openCluster, passwordFileOf, type Place } from './cluster.ts';
import { isLast } from './own-client.ts';
import { type Server, type ServerOptions, stopServer, useServer } from './postgres-server.ts';

export interface EmbeddedOptions {
  /** The data folder; by default the first usable folder of `foldersOf`. */
  readonly dataDir?: string | undefined;
  /** True for a folder that is deleted by `close` or when the process ends. Its data is not safe from power loss. */
  readonly ephemeral?: boolean | undefined;
  /** The programs of an installed Postgres, instead of those from npm. */
  readonly bindir?: string | undefined;
  /** Called for steps that take a while, such as "unpacking Postgres 18.4". */
  readonly onProgress?: ((step: string) => void) | undefined;
  /** Called with notes that are not errors, such as a changed port or a server that has stopped. */
  readonly onWarning?: ((words: string) => void) | undefined;
}

export interface Embedded {
  /** The URL for `createDatabase`, with the password. */
  readonly url: string;
  readonly dataDir: string;
  /** True if another process started the server. */
  readonly attached: boolean;
  /** A command that connects to the mirror. It reads the password from a file. */
  readonly psqlCommand: string;
  /** Stops the server, unless another musterd process uses it. Close your own connections first. */
  close(): Promise<void>;
}

/** True if an embedded mirror exists. It creates none. */
export const hasMirror = (dataDir: string | undefined) =>
  (dataDir === undefined ? foldersOf('data') : [resolve(dataDir)]).some(hasCluster);

/**
 * Starts a real Postgres server on loopback, or attaches to the server that another musterd process runs on the same
 * data folder. If the server stops, it is started again. The first use unpacks the server and creates the database.
 * Rejects with `MusterdError('mirror')`, whose hint is often to set DATABASE_URL.
 */
export async function openEmbedded(options: EmbeddedOptions = {}): Promise<Embedded> {
  try {
    return await open(options);
  } catch (error) {
    if (error instanceof MusterdError) throw error;
    const where =
      process.getuid?.() === 0
        ? 'As root, the embedded Postgres runs as "postgres" or "nobody": choose an empty MUSTERD_DATA_DIR that they can reach (not below /root)'
        : 'Check the owner of that folder and its free disk space, or set MUSTERD_DATA_DIR to another folder';
    const { message, stderr } = error as { message: string; stderr?: string };
    const words = `The embedded Postgres could not be opened: ${stderr?.trim() || message}`;
    throw new MusterdError('mirror', words, { hint: `${where}, or set DATABASE_URL.`, cause: error });
  }
}

const nothing = () => undefined;

async function open(options: EmbeddedOptions): Promise<Embedded> {
  const { dataDir, ephemeral = false, onProgress = nothing, onWarning = nothing } = options;
  const bindir = options.bindir ?? findBinaries(onProgress);
  // The server's account may have no access to root's TMPDIR.
  const isOpen = process.getuid?.() !== 0 || (fs.statSync(tmpdir()).mode & 0o001) !== 0;
  const temporary = () => fs.mkdtempSync(join(isOpen ? tmpdir() : '/tmp', 'musterd-ephemeral-'));
  const folder = ephemeral ? temporary() : dataDir === undefined ? usableFolder('data') : resolve(dataDir);
  const place: Place = { folder, account: giveFolder(folder), bindir, ephemeral };
  const remove = () => {
    if (!ephemeral) return;
    const gone = { recursive: true, force: true };
    asAccount(place.account, () => fs.readdirSync(folder).map((name) => fs.rmSync(join(folder, name), gone)));
    // Root removes the folder, not the server's account, because only root can write to the parent folder.
    fs.rmdirSync(folder);
  };
  try {
    const password = await openCluster(place, onProgress);
    const { server, leave } = await attach({ ...place, password, onWarning });
    const file = passwordFileOf(folder).replaceAll(/[^\w./-]/gu, String.raw`\$&`);
    let closing: Promise<void> | undefined;
    return {
      url: `postgres://${OWNER}:${password}@127.0.0.1:${server.port}/${OWNER}?sslmode=disable`,
      dataDir: folder,
      attached: server.letGo === undefined,
      psqlCommand: `PGPASSFILE=${file} psql -h 127.0.0.1 -p ${server.port} -U ${OWNER} ${OWNER}`,
      close: async () => {
        closing ??= leave().then(remove);
        await closing;
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Uses the server until `leave` is called, and restarts a server that stops. The last process that leaves stops it. */
async function attach(options: ServerOptions) {
  const leaving = new AbortController();
  let held = await useServer(options);
  const comeBack = async () => {
    options.onWarning('the embedded Postgres, or the process that started it, has ended: starting it again');
    while (!leaving.signal.aborted) {
      // If the attempt to reach the server fails, it is repeated.
      const wait = delay(500, undefined, { ref: false, signal: leaving.signal });
      const found = await wait.then(async () => await useServer(options)).catch(nothing);
      if (found !== undefined) return watch(found);
    }
  };
  let back = Promise.resolve();
  const watch = (found: Server) => {
    // If a child process of the server crashed, all connections have ended, but the server's pid is the same.
    held = found.pid === held.pid ? { ...found, letGo: held.letGo } : found;
    held.client.once('end', () => {
      if (!leaving.signal.aborted) back = comeBack();
    });
  };
  watch(held);
  const leave = async () => {
    leaving.abort();
    await back;
    // This client keeps the lock until the server has stopped, so that no other process can attach in between.
    const isOurs = await isLast(held.client).catch(() => held.letGo !== undefined);
    held.letGo?.();
    if (isOurs) await stopServer(held, options.folder);
    await held.client.end().catch(nothing);
  };
  return { server: held, leave };
}

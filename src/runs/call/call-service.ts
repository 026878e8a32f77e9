/** Calls the service for a person's command, at the shared pace. A call that writes is refused in a copy of a mirror. */
import type { Config } from '../../config/config.ts';
import { ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { createDatabase, type Database } from '../../mirror/db/database.ts';
import { isThere } from '../../mirror/migrations/applied.ts';
import { requireHome } from '../../mirror/team/known-place.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Effect } from '../../service/operation.ts';
import { type Mirror, openMirror, requireSchema } from '../open.ts';
import { createService, requireService, sharePace } from '../open-service.ts';

/** Opens the mirror. The embedded server is started only for a call that writes, and only if its folder has a mirror. */
async function openForCall(
  config: Config,
  effect: Effect,
): Promise<Pick<Mirror, 'db' | 'close'> | undefined> {
  const { url, dataDir } = config.database;
  const applicationName = 'musterd call';
  if (url !== undefined) {
    const db = createDatabase({ url, applicationName });
    return { db, close: () => db.close() };
  }
  if (effect === 'read') return undefined;
  const { hasMirror } = await import('../../embedded/embedded.ts');
  if (!hasMirror(dataDir)) return undefined;
  const mirror = await openMirror(config, () => {}, { applicationName });
  if (await isThere(mirror.db.kysely)) return mirror;
  // Another command once created the embedded server's folder, but the mirror in it was never migrated.
  await mirror.close();
  return undefined;
}

/** @throws MusterdError `copy` if the call writes and the mirror is a copy */
export async function callService<R>(
  { config, log, signal }: { readonly config: Config; readonly log: Log; readonly signal: AbortSignal },
  effect: Effect,
  work: (service: ServiceClient, db: Database | undefined) => Promise<R>,
): Promise<R> {
  await requireService(config, log);
  const mirror = await openForCall(config, effect);
  try {
    const db = mirror?.db;
    if (db !== undefined) await requireSchema(db);
    if (db !== undefined && effect === 'write') await requireHome(db);
    const pace = db === undefined ? null : sharePace(db, config);
    const mode = effect === 'write' ? 'read-write' : 'read-only';
    const service = createService(config, mode, { log, signal, pace });
    try {
      return await work(service, db);
    } finally {
      await service.close();
    }
  } finally {
    await mirror?.close();
  }
}

/** The same error, with the body of the answer as a hint. Only the person who made the call sees it. */
export function explainRefusal(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.excerpt === undefined) return error;
  const { operation, phase, status, requestId } = error;
  const hint = [error.hint, error.excerpt].filter((line) => line !== undefined).join('\n  ');
  return new ServiceError(error.message, { operation, phase, status, requestId, hint, cause: error });
}

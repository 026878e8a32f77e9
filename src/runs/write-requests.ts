/** Asks the service for tags, messages and read conversations, in the name of a person. */
import { MusterdError } from '../errors.ts';
import type { Transaction } from '../mirror/db/database.ts';
import {
  findInboxes,
  readLocalTime,
  readRequestMoves,
  readShownRequests,
  type RequestMove,
  type ShownRequest,
} from '../mirror/requests/shown-requests.ts';
import { readSettled, readTransactionId } from '../mirror/users/settled.ts';
import type { Id } from '../model/id.ts';
import { printable } from '../model/in-words.ts';
import { momentMs } from '../model/moment.ts';
import { actAs } from './four-eyes.ts';
import { requireTeamId } from './named-user.ts';
import type { Setup } from './open.ts';

export {
  cancelMessage,
  insertRequest,
  type RequestValues,
  resolveMessage,
  updateMessage,
} from '../mirror/requests/asked-requests.ts';
export type { RequestMove, ShownRequest } from '../mirror/requests/shown-requests.ts';

export interface WrittenRequests {
  readonly requests: readonly ShownRequest[];
  /** The outcome of each, if the command has waited for it. */
  readonly states: readonly string[] | null;
}

/** @param waitMs how long to wait for the outcomes; `undefined` for not at all */
export async function writeRequests(
  setup: Setup,
  how: {
    readonly actor: string | undefined;
    readonly waitMs: number | undefined;
    readonly signal: AbortSignal;
  },
  write: (tx: Transaction, teamId: Id) => Promise<readonly (string | null)[]>,
): Promise<WrittenRequests> {
  const { config, mirror } = setup;
  const teamId = await requireTeamId(setup);
  const { ids, xid } = await mirror.db.transaction(async (tx) => {
    await actAs(tx, config, how.actor);
    const written = await write(tx, teamId);
    return { ids: written.map(requireFound), xid: await readTransactionId(tx) };
  });
  const { waitMs, signal } = how;
  const settled = waitMs === undefined ? null : await readSettled(mirror.db, xid, { waitMs, signal });
  return {
    requests: await readShownRequests(mirror.db.kysely, teamId, ids),
    states: settled?.map(({ state }) => state) ?? null,
  };
}

function requireFound(localId: string | null): string {
  if (localId !== null) return localId;
  throw new MusterdError('usage', 'There is no such message', { hint: '"musterd schedule list" has them.' });
}

/** Reads the requests that a run would look at: all on which the two sides do not agree yet. */
export async function readPendingRequests(
  { mirror }: Pick<Setup, 'mirror'>,
  teamId: Id,
): Promise<readonly ShownRequest[]> {
  const open = await readShownRequests(mirror.db.kysely, teamId, 'open');
  const isLasting = ({ field, state }: ShownRequest) =>
    state === 'waiting' || state === 'held' || (field === 'message' && state !== 'scheduled');
  return open.filter(isLasting);
}

export async function listRequests(
  setup: Setup,
  field: ShownRequest['field'] | null,
  which: 'open' | 'all' = 'open',
): Promise<readonly ShownRequest[]> {
  const rows = await readShownRequests(setup.mirror.db.kysely, await requireTeamId(setup), which);
  return rows.filter((row) => field === null || row.field === field);
}

export const isLocalId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** @throws MusterdError `usage` if no message can be called so */
export const requireLocalId = (text: string): string => requireFound(isLocalId(text) ? text : null);

/** One request, and what the ledger has of it. @throws MusterdError `usage` if there is none */
export async function explainRequest(
  setup: Setup,
  localId: string,
): Promise<{ readonly request: ShownRequest; readonly moves: readonly RequestMove[] }> {
  const teamId = await requireTeamId(setup);
  const { kysely } = setup.mirror.db;
  const [request] = isLocalId(localId) ? await readShownRequests(kysely, teamId, [localId]) : [];
  if (request === undefined)
    throw new MusterdError('usage', `There is no message, tag or conversation "${printable(localId)}"`, {
      hint: '"musterd schedule list" and "musterd conversations" have their local_ids.',
    });
  return { request, moves: await readRequestMoves(kysely, teamId, localId) };
}

/** @throws MusterdError `usage` if no inbox or several match */
export async function requireInbox(setup: Setup, text: string): Promise<Id> {
  const found = await findInboxes(setup.mirror.db.kysely, await requireTeamId(setup), text.trim());
  const [inbox] = found;
  if (inbox !== undefined && found.length === 1) return inbox.id;
  throw new MusterdError(
    'usage',
    `${found.length === 0 ? 'No inbox' : 'More than one inbox'} is called "${printable(text)}"`,
    {
      hint: '"musterd inboxes" lists them: give an id or a name.',
    },
  );
}

/** Reads a time with an offset, or in the zone of the settings. @throws MusterdError `usage` */
export async function readDueTime(setup: Setup, text: string): Promise<string> {
  const ms = momentMs(text.trim());
  if (Number.isNaN(ms) || !text.includes(':'))
    throw new MusterdError('usage', `--at "${printable(text)}" is not a time`, {
      hint: 'Write 2026-12-01T09:15:00Z, or 2026-12-01 09:15 in the zone of the team (write.timezone).',
    });
  const iso = new Date(ms).toISOString();
  if (/(?:[Zz]|[+-]\d\d:?\d\d)$/.test(text.trim())) return iso;
  const { timezone } = setup.config.write;
  const moments = await readLocalTime(setup.mirror.db.kysely, timezone, iso.slice(0, -1));
  const [moment] = moments;
  if (moment !== undefined && moments.length === 1) return moment.toISOString();
  throw new MusterdError(
    'usage',
    `In ${timezone} it is ${printable(text)} ${moments.length === 0 ? 'never' : 'twice'}: clocks change`,
    {
      hint:
        moments.length === 0
          ? 'Give another time.'
          : `Say which: ${moments.map((moment) => moment.toISOString()).join(' or ')}.`,
    },
  );
}

/** Open requests for messages, new tags and read conversations, made in SQL up to 0.1.0: migration 0004 drops them. */
import { sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import { plural } from '../../model/in-words.ts';
import type { Transaction } from '../db/database.ts';

/** The migration that drops the tables. */
export const droppingMigration = '0004_direct_commands';

export interface OpenRequest {
  readonly kind: 'message' | 'tag' | 'conversation_read';
  readonly team_id: Id;
  readonly local_id: string;
  /** The service's id of the message or tag; `null` without an id. */
  readonly id: Id | null;
  readonly state: 'waiting' | 'held' | 'being sent' | 'unknown' | 'scheduled' | 'refused';
  /** True if the request asks to cancel the message. */
  readonly cancels: boolean;
  readonly execute_at: Date | null;
  /** When the service will send the message, if not at `execute_at`; otherwise `null`. */
  readonly service_time: Date | null;
  /** The recipient of a message, or the name of a tag. */
  readonly recipient: string;
  /** The whole row. */
  readonly row: unknown;
}

/** Saves the requests outside of the database before the migration drops them. */
export type KeepRequests = (requests: readonly OpenRequest[]) => Promise<void>;

/** Reads the open requests. Locks their tables, so that no other session adds a request before they are dropped. */
async function readOpenRequests(tx: Transaction): Promise<readonly OpenRequest[]> {
  const { rows: there } = await sql<{ is: boolean }>`
    select to_regclass('mirror.scheduled_messages') is not null as is`.execute(tx);
  if (there[0]?.is !== true) return [];
  await sql`lock table mirror.scheduled_messages, mirror.conversation_reads, mirror.tags in access exclusive mode`.execute(
    tx,
  );
  const { rows } = await sql<OpenRequest>`
    select r.kind, r.team_id, r.local_id, r.id, case
        when exists (select from sync.changes c where c.team_id = r.team_id and c.local_id = r.local_id and c.state = 'open') then
          case r.state when 'unknown' then 'unknown' else 'being sent' end
        when exists (select from sync.held_fields h where h.team_id = r.team_id and h.local_id = r.local_id) then 'held'
        -- The service has refused the change of a message, and sends the unchanged message.
        when r.state = 'refused' and r.id is not null and r.service_time > clock_timestamp() then 'scheduled'
        else r.state end as state,
      r.cancels, r.execute_at, case when r.service_time <> r.execute_at then r.service_time end as service_time, r.recipient, r.row
    from (
      select 'message' as kind, m.team_id, m.local_id, m.id, m.state, m.cancels, m.execute_at, (m.base ->> 'execute_at')::timestamptz as service_time,
        coalesce('list ' || m.list_id, 'conversation ' || m.conversation_id, m.phone_number, array_to_string(m.targets, ', ')) as recipient,
        to_jsonb(m) as row
      from mirror.scheduled_messages m
      where m.state in ('waiting', 'held', 'unknown', 'refused') or m.state = 'scheduled' and m.execute_at > clock_timestamp()
      union all
      select 'tag', t.team_id, t.local_id, null, 'waiting', false, null, null, t.tag, to_jsonb(t) from mirror.tags t where t.id is null
      union all
      select 'conversation_read', c.team_id, c.local_id, null, c.state, false, null, null,
        coalesce(c.target, array_to_string(c.targets, ', ')), to_jsonb(c)
      from mirror.conversation_reads c where c.state in ('waiting', 'held', 'unknown', 'refused')
    ) r order by r.execute_at nulls last, r.team_id, r.local_id`.execute(tx);
  return rows;
}

/** The highest number of requests that the error lists. `keep` gets all of them. */
const mostListed = 100;

const inIso = (time: Date) => time.toISOString().replace('.000Z', 'Z');

function inWords(request: OpenRequest): string {
  const { kind, local_id, id, state, cancels, execute_at, service_time, recipient } = request;
  const what = kind === 'conversation_read' ? 'read conversation' : kind;
  const when = execute_at === null ? '' : `, ${inIso(execute_at)}`;
  const sent = service_time === null ? '' : `; the service sends it at ${inIso(service_time)}`;
  const how = `${state}${cancels ? ', to be cancelled' : ''}${sent}`;
  return `  ${what} ${id ?? local_id}${when}, ${kind === 'tag' ? '' : 'to '}${recipient} (${how})`;
}

/** @throws MusterdError `mirror` if requests are open and `keep` is absent */
export async function requireNoOpenRequests(tx: Transaction, keep: KeepRequests | undefined): Promise<void> {
  const requests = await readOpenRequests(tx);
  if (keep !== undefined) return await keep(requests);
  // Refused requests are left out, because they had no effect on the service.
  const open = requests.filter(({ state }) => state !== 'refused');
  if (open.length === 0) return;
  const more = open.length > mostListed ? [`  and ${open.length - mostListed} more`] : [];
  throw new MusterdError(
    'mirror',
    [
      `This version sends messages only by commands. ${plural(open.length, 'open request')} of 0.1.0 would be deleted:`,
      ...open.slice(0, mostListed).map(inWords),
      ...more,
    ].join('\n'),
    {
      hint: 'Nothing was changed. Let the earlier version finish these requests, or write them to a file first: musterd migrate --drop-requests <file>',
    },
  );
}

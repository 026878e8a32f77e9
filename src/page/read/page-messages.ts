/** The queries of the view of scheduled messages. */
import { type RawBuilder, sql } from 'kysely';
import type { HoldReason } from '../../model/user-plan.ts';
import type { Id } from '../../model/id.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import type { Row, Transaction } from '../../mirror/db/database.ts';
import { actFor } from '../../mirror/users/decide-edits.ts';
import { readOwnRequests } from '../../mirror/users/last-edits.ts';
import { waitsForPerson } from '../../mirror/users/waiting-fields.ts';
import { type MessageTerms, type PageReader, readMessageTerms } from './page-reader.ts';
import { type PageWaiting, readDone, readSending } from './page-waiting-view.ts';

/** A message's state in the words for people. A held one that was rejected waits for nobody. */
export type ScheduledState =
  | 'waiting'
  | 'held'
  | 'rejected'
  | 'scheduled'
  | 'cancelled'
  | 'past'
  | 'refused'
  | 'unknown';

type Scheduled = Row<
  'mirror.scheduled_messages',
  'team_id' | 'local_id' | 'text' | 'template_id' | 'targets' | 'recipients' | 'cancels' | 'detail'
>;

export interface PageMessage extends Scheduled {
  readonly state: ScheduledState;
  readonly executeAt: Date;
  readonly inbox: string | null;
  readonly inboxId: Id;
  readonly inboxPhone: string | null;
  readonly userId: Id | null;
  readonly sender: string | null;
  readonly targetKind: 'list' | 'conversation' | 'numbers';
  readonly target: string | null;
  /** The attachments, each with its name and its address. */
  readonly files: readonly string[];
  /** What the service has of it; `null` if it has nothing. */
  readonly base: { readonly text?: string; readonly execute_at?: string } | null;
  readonly editedAt: Date;
  readonly editedBy: string | null;
  readonly approvedAt: Date | null;
  readonly approvedBy: string | null;
  /** Why it waits for a person, if it does, and the batch and the edit by which that is decided. */
  readonly reason: HoldReason | null;
  readonly why: string | null;
  readonly batch: string | null;
  readonly editId: Id | null;
  /** When it was last sent. */
  readonly sentAt: Date | null;
}

/** The messages of one time that are in one state. */
export interface MessageSum {
  readonly teamId: Id;
  readonly executeAt: Date;
  readonly state: ScheduledState;
  readonly messages: number;
  readonly recipients: number;
  /** How many of them go to a list, whose size nobody knows. */
  readonly lists: number;
}

export interface MessagesFilter {
  readonly state: string | null;
  /** Whether the days before today are shown, the last one first, and not those from today on. */
  readonly isEarlier: boolean;
  readonly skip: number;
  readonly limit: number;
  /** When today began in this zone. */
  readonly today: (timeZone: string, now: Date) => Date;
}

export interface PageMessages extends Pick<PageWaiting, 'done' | 'sending'> {
  /** The messages that somebody has to see to, the one that is due first on top. */
  readonly open: readonly PageMessage[];
  /** The requested part of the time line, by time. */
  readonly shown: readonly PageMessage[];
  /** The number of messages from today on, or before. */
  readonly sums: readonly MessageSum[];
  /** Whether there are any on the other side of today. */
  readonly hasOthers: boolean;
  /** The `local_id` of those that the person who looks has written. */
  readonly own: ReadonlySet<string>;
}

const mostOpen = 100;
const quarterHours = 10_000;

const stateOf = sql`(case when m.state = 'held' and h.reason = 'rejected' then 'rejected' else m.state end)`;
/** JavaScript knows no later day. */
const due = sql`least(m.execute_at, timestamptz '9999-12-31')`;

const columns = sql`
  s.team_id, s.local_id, s.text, s.template_id, m.targets, s.recipients, s.cancels, s.detail, ${stateOf} as state, ${due} as "executeAt",
  s.inbox, s.inbox_id as "inboxId", coalesce(i.phone, i.phones ->> 0) as "inboxPhone", s.user_id as "userId", s.sender,
  s.target_kind as "targetKind", s.target, m.base, coalesce(s.edited_at, s.created_at) as "editedAt", s.edited_by as "editedBy",
  s.approved_at as "approvedAt", s.approved_by as "approvedBy", h.reason, h.detail as why, h.batch, h.edit_id as "editId",
  array(select concat_ws(' ', f ->> 'name', f ->> 'annotation_text', coalesce(f ->> 'url', f ->> 'original_url'))
    from jsonb_array_elements(coalesce(m.attachments, '[]') || coalesce(m.gallery, '[]')) f) as files,
  (select max(c.opened_at) from report.changes c where c.team_id = s.team_id and c.local_id = s.local_id and c.kind = 'push') as "sentAt"`;

/** Each message, why it is held, and when today began where its team is. */
function messagesFrom(
  { teamIds, now }: PageReader,
  terms: readonly MessageTerms[],
  today: MessagesFilter['today'],
) {
  const zoneOf = new Map(terms.map(({ teamId, timezone }) => [teamId, timezone]));
  const begins = teamIds.map((id) => today(zoneOf.get(id) ?? 'UTC', now));
  return sql`
    unnest(${idArray(teamIds)}, ${begins.map((begin) => begin.toISOString())}::timestamptz[]) z (team_id, today)
    join mirror.scheduled_messages m on m.team_id = z.team_id
    left join report.held h on h.team_id = m.team_id and h.local_id = m.local_id`;
}

export async function readMessages(
  reader: PageReader,
  filter: MessagesFilter,
  query = new URLSearchParams(),
): Promise<PageMessages> {
  const { db, decider } = reader;
  const { messageTerms: terms } = await readMessageTerms(db, reader.teamIds);
  const all = messagesFrom(reader, terms, filter.today);
  const read = async (where: RawBuilder<unknown>, order: RawBuilder<unknown>) => {
    const { rows } = await sql<PageMessage>`
      select ${columns} from ${all}
      join report.schedule s on s.team_id = m.team_id and s.local_id = m.local_id
      left join mirror.inboxes i on i.team_id = m.team_id and i.id = m.inbox_id
      where ${where} order by ${order}`.execute(db);
    return rows;
  };
  const open = await read(
    sql`(m.state = 'unknown' or (h.reason is not null and ${waitsForPerson}))`,
    sql`m.execute_at, m.local_id limit ${mostOpen}`,
  );
  const side = filter.isEarlier ? sql`m.execute_at < z.today` : sql`m.execute_at >= z.today`;
  const isAsked = filter.state === null ? sql`true` : sql`${stateOf} = ${filter.state}`;
  const way = filter.isEarlier ? sql`desc` : sql``;
  const line = await read(
    sql`${side} and ${isAsked}`,
    sql`m.execute_at ${way}, m.local_id ${way} limit ${filter.limit} offset ${filter.skip}`,
  );
  const { rows: sums } = await sql<MessageSum>`
    select m.team_id as "teamId", ${due} as "executeAt", ${stateOf} as state, count(*)::int as messages,
      coalesce(sum(m.recipients), 0)::float8 as recipients, count(*) filter (where m.recipients is null)::int as lists
    from ${all} where ${side} group by 1, 2, 3 order by 2 ${way} limit ${quarterHours}`.execute(db);
  const { rows: others } = await sql`select 1 from ${all} where not (${side}) limit 1`.execute(db);
  const { done } = await readDone(reader, query, 0);
  return {
    open,
    shown: filter.isEarlier ? line.toReversed() : line,
    sums,
    hasOthers: others.length > 0,
    own: decider === null ? new Set() : await readOwn(reader, terms, open),
    done,
    sending: await readSending(reader),
  };
}

/** If messages may go unattended, nobody else has to approve them, unless four eyes are on. */
async function readOwn(
  { db, teams, decider }: PageReader,
  terms: readonly MessageTerms[],
  open: readonly PageMessage[],
) {
  const tx = db as Transaction;
  if (decider !== null) await actFor(tx, decider.actor);
  const own: string[] = [];
  for (const { teamId, schedule } of terms) {
    const isSeenByTwo = teams.some(
      (candidate) => candidate.teamId === teamId && decider?.fourEyes.has(candidate.team) === true,
    );
    if (schedule === 'unattended' && !isSeenByTwo) continue;
    const ofTeam = open.filter((message) => message.team_id === teamId).map((message) => message.local_id);
    own.push(...(await readOwnRequests(tx, teamId, ofTeam)));
  }
  return new Set(own);
}

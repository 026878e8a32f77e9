/**
 * Finds out how the service takes scheduled messages: whether a repeated `local_id` makes a second one, and on which
 * minutes they can be due. The messages are due in 300 days, addressed to a number of the team's own inbox, and cancelled
 * at once. How early a message has to be there is not tried, since one that is due soon could be sent.
 */
import { randomUUID } from 'node:crypto';
import { MusterdError, ServiceError } from '../../errors.ts';
import type { Database } from '../../mirror/db/database.ts';
import { findOwnNumber } from '../../mirror/requests/shown-requests.ts';
import { readScheduling } from '../../mirror/team/scheduling.ts';
import type { Id } from '../../model/id.ts';
import { plural } from '../../model/in-words.ts';
import { momentMs } from '../../model/moment.ts';
import { type Scheduling, sayScheduling, schedulingTopic } from '../../model/requests.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { ScheduleRequest } from '../../model/message-request.ts';
import { checkInWords, type Report } from './check-report.ts';

const hourMs = 3_600_000;
const aheadMs = 300 * 24 * hourMs;
/** The grids that are tried, the finest first. The last is assumed where none is taken. */
const grids = [1, 5, 10, 15, 30] as const;
const anyTime = { gridMinutes: 1, marginMinutes: 1 };

/** Messages that were made, or may have been, by their time. */
interface Made {
  readonly id: Id | null;
  readonly executeAt: string;
}

interface Probe {
  readonly service: ServiceClient;
  readonly request: Omit<ScheduleRequest, 'executeAt'>;
  readonly made: Made[];
}

/** Whether the request never left or was turned away, so that nothing was made, which says nothing about messages. */
const isTurnedAway = (error: unknown): boolean =>
  error instanceof ServiceError && (error.phase === 'not-sent' || [401, 429].includes(error.status ?? 0));

/** Whether the service refuses the message itself. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof ServiceError) || isTurnedAway(error)) return false;
  const { status = 0 } = error;
  return status >= 400 && status < 500 && status !== 408;
}

/** @returns the id; `null`: the service refuses it. @throws ServiceError if nobody knows whether it has been made */
async function create({ service, request, made }: Probe, atMs: number, localId: string): Promise<Id | null> {
  const executeAt = new Date(atMs).toISOString().replace('.000Z', 'Z');
  try {
    const { id } = await service.createSchedule({ ...request, executeAt, localId }, { times: anyTime });
    made.push({ id, executeAt });
    return id;
  } catch (error) {
    if (isRefused(error)) return null;
    if (!isTurnedAway(error)) made.push({ id: null, executeAt });
    throw error;
  }
}

async function probeLocalIds(probe: Probe, atMs: number): Promise<Required<Scheduling>['local_ids'] | null> {
  const localId = randomUUID();
  const first = await create(probe, atMs, localId);
  if (first === null) return null;
  const second = await create(probe, atMs, localId);
  return second === null ? 'refused' : second === first ? 'unique' : 'ignored';
}

/** The finest grid on which a message is taken, and is due then. */
async function probeGrid(probe: Probe, fullHourMs: number): Promise<number> {
  for (const minutes of grids) {
    const atMs = fullHourMs + minutes * 60_000;
    const id = await create(probe, atMs, randomUUID());
    const seen = id === null ? null : await probe.service.schedule(id);
    if (seen !== null && momentMs(seen.execute ?? '') === atMs) return minutes;
  }
  return 60;
}

/** @returns what is left of it, for a person to look at; `null` if it is gone */
async function cancel(service: ServiceClient, { id, executeAt }: Made): Promise<string | null> {
  const which = `message ${id ?? 'without a known id'}, due ${executeAt}`;
  if (id === null) return `${which}: no answer came, so it may be there`;
  try {
    await service.cancelSchedule(id);
  } catch (error) {
    if (!isRefused(error)) return `${which}: ${checkInWords(error)}`;
  }
  const left = await service.schedule(id).catch((error: unknown) => checkInWords(error));
  if (typeof left === 'string') return `${which}: ${left}`;
  return left === null || left.op === 'delete' ? null : `${which}: the service still shows it`;
}

/** Cancels each once, and looks whether it is gone. */
async function cancelAll({ service, made }: Probe, inbox: Id, report: Report): Promise<void> {
  const each = [...new Map(made.map((message) => [message.id ?? message.executeAt, message])).values()];
  const left: string[] = [];
  for (const message of each) {
    const words = await cancel(service, message);
    if (words !== null) left.push(words);
  }
  if (left.length > 0)
    report.add(
      'schedule probe',
      'fail',
      `NOT CANCELLED, cancel it in the web app (inbox ${inbox}, to its own number): ${left.join('; ')}`,
    );
  else report.add('schedule probe', 'ok', `${plural(each.length, 'message')} made and cancelled`);
}

export async function probeSchedule(
  service: ServiceClient,
  teamId: Id,
  db: Database,
  report: Report,
): Promise<void> {
  const own = await findOwnNumber(db.kysely, teamId);
  if (own === undefined) {
    report.add('schedule probe', 'note', 'no inbox of the mirror has a number to address a message to');
    return;
  }
  const fullHourMs = Math.ceil((Date.now() + aheadMs) / hourMs) * hourMs;
  const content = { text: 'A test by "musterd check --write-probe"; it is cancelled at once.' };
  const probe: Probe = {
    service,
    request: { inboxId: own.inbox, phoneNumber: own.number, content },
    made: [],
  };
  try {
    const localIds = await probeLocalIds(probe, fullHourMs);
    if (localIds === null)
      throw new MusterdError('service', 'The service refuses a message to a number of its own inbox');
    const known = await readScheduling(db.kysely, teamId);
    const grid = await probeGrid(probe, fullHourMs);
    const found: Scheduling = { ...known, local_ids: localIds, grid_minutes: grid };
    report.probe(schedulingTopic, found, localIds === 'unique' ? 'ok' : 'note', sayScheduling(found));
  } catch (error) {
    report.fail('schedule probe', error);
  } finally {
    await cancelAll(probe, own.inbox, report);
  }
}

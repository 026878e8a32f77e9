/** The commands that schedule and cancel messages. Each change is one call of the service. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { MusterdError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import type { ScheduleRequest } from '../../model/message-request.ts';
import { inZone } from '../../model/zone-time.ts';
import { requireNamedInbox, requireNamedMember } from '../../runs/call/named-on-service.ts';
import type { DirectCaller } from '../../runs/call/send-once.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { JsonObject } from '../../service/json-object.ts';
import { encodeSchedule, findScheduleFlaw } from '../../service/messages/schedule-request.ts';
import { encodeShown, type ScheduledMessage } from '../../service/messages/wire-schedule.ts';
import type { Context, ExitCode } from '../context.ts';
import { linesOfFields, printFields, type SendingOptions, sendConfirmed, withCaller } from './direct-send.ts';
import { type MessageOptions, readId, readMessage } from './message-options.ts';
import { printLine } from '../output.ts';

interface ScheduleOptions extends MessageOptions, SendingOptions {
  readonly inbox?: string;
  readonly user?: string;
}

const usage = (words: string, hint?: string) => new MusterdError('usage', words, { hint });

/** Reads the ids of the inbox and the sender, and their names, which are shown as notes beside the ids. */
async function readSender(
  { service, team }: DirectCaller,
  { inbox, user }: ScheduleOptions,
): Promise<{ ids: { inboxId: Id; userId?: Id }; notes: Record<string, string> }> {
  if (inbox === undefined) throw usage('Name the inbox that sends it: --inbox');
  const found = await requireNamedInbox(service, inbox);
  const sender =
    user === undefined || user === '' ? undefined : await requireNamedMember(service, team, user, found);
  return {
    ids: { inboxId: found.id, ...(sender === undefined ? {} : { userId: sender.id }) },
    notes: { inbox_id: found.name, user_id: sender?.name ?? '' },
  };
}

/** @returns the body to send. @throws MusterdError `usage` if the service would not accept it */
function bodyOf({ service }: DirectCaller, request: ScheduleRequest): JsonObject {
  const flaw = findScheduleFlaw(request, Date.now() + (service.clockOffsetMs() ?? 0));
  if (flaw !== null)
    throw usage(
      `The message cannot be sent: ${flaw}`,
      flaw.startsWith('content')
        ? 'Give --text, --template, --attachment or --gallery.'
        : 'Give a time at least 15 minutes ahead: --at.',
    );
  return encodeSchedule(request);
}

/** A message as the service shows it. */
interface Shown {
  readonly message: ScheduledMessage;
  readonly fields: JsonObject;
}

/** @throws MusterdError `usage` if the service has no such message */
async function readShown(service: ServiceClient, idText: string): Promise<Shown> {
  const id = readId('The message', idText);
  if (id === undefined) throw usage('Name the message by its id on the service');
  const message = await service.schedule(id);
  if (message === null) throw usage(`The service has no scheduled message ${id}`, 'Look for it in the app.');
  return { message, fields: encodeShown(message) as JsonObject };
}

/** Reads and shows the message to cancel. @throws MusterdError `usage` if it is cancelled already */
async function showMessage(context: Context, { service }: DirectCaller, idText: string): Promise<Shown> {
  const shown = await readShown(service, idText);
  const { id, op } = shown.message;
  printLine(context.err, `The service shows message ${id} like this:`);
  printFields(context.err, linesOfFields(shown.fields));
  if (op === 'delete') throw usage(`Message ${id} is cancelled already`);
  return shown;
}

/** @throws MusterdError `usage` if the message has changed since it was shown to the person */
async function requireUnchanged(
  { service }: DirectCaller,
  { message: { id }, fields }: Shown,
): Promise<void> {
  const now = await readShown(service, String(id));
  if (isDeepStrictEqual(now.fields, fields)) return;
  throw usage(
    `Nothing was sent: message ${id} changed before you agreed`,
    `Look at the message again: musterd schedule cancel ${id}`,
  );
}

/** A note about the send time of a message: `UTC`, or its local time if a zone is given. */
function noteTime({ executeAt }: ScheduleRequest, zone: string | undefined): string {
  return zone === undefined ? 'UTC' : `${inZone(Date.parse(executeAt), zone)} in ${zone}`;
}

export const scheduleCreate = (context: Context, options: ScheduleOptions): Promise<ExitCode> =>
  withCaller(context, options, async (caller) => {
    const { ids, notes } = await readSender(caller, options);
    const localId = randomUUID();
    const request = readMessage(options, { ...ids, localId });
    return sendConfirmed(context, options, caller, {
      operation: 'POST /v1/schedule',
      subject: 'message',
      body: bodyOf(caller, request),
      localId,
      notes: { ...notes, execute_at: noteTime(request, options.zone) },
      send: (how) => caller.service.createSchedule(request, how),
      words: 'Scheduled',
    });
  });

export const scheduleCancel = (context: Context, options: ScheduleOptions, text: string): Promise<ExitCode> =>
  withCaller(context, options, async (caller) => {
    const shown = await showMessage(context, caller, text);
    const { id, localId } = shown.message;
    return sendConfirmed(context, options, caller, {
      operation: `DELETE /v1/schedule/${id}`,
      subject: 'message',
      body: { id },
      id,
      localId: localId ?? undefined,
      before: shown.fields,
      recheck: () => requireUnchanged(caller, shown),
      send: (how) => caller.service.cancelSchedule(id, how),
      words: 'Cancelled',
    });
  });

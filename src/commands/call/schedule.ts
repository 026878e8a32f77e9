/** Schedules, shows, changes and cancels messages. Each change is one call of the service. */
import { createHash, randomUUID } from 'node:crypto';
import { MusterdError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import { printable } from '../../model/in-words.ts';
import { toJson } from '../../model/json.ts';
import type { ScheduleRequest } from '../../model/message-request.ts';
import { inZone } from '../../model/zone-time.ts';
import { callService } from '../../runs/call/call-service.ts';
import { requireNamedInbox, requireNamedMember } from '../../runs/call/named-on-service.ts';
import type { DirectCaller } from '../../runs/call/send-once.ts';
import type { ServiceClient } from '../../service/client.ts';
import { isObject, type JsonObject } from '../../service/json-object.ts';
import { encodeSchedule, findScheduleFlaw } from '../../service/messages/schedule-request.ts';
import { encodeShown, type ScheduledMessage } from '../../service/messages/wire-schedule.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { linesOfFields, printFields, type SendingOptions, sendConfirmed, withCaller } from './direct-send.ts';
import { type MessageOptions, readId, readMessage, shownRequest } from './message-options.ts';
import { printJson, printLine } from '../output.ts';
import { readSettings } from '../setup.ts';

interface ScheduleOptions extends MessageOptions, SendingOptions {
  readonly inbox?: string;
  readonly user?: string;
  /** The digest that the message must still have. Otherwise it is neither changed nor cancelled. */
  readonly if?: string;
}

const usage = (words: string, hint?: string) => new MusterdError('usage', words, { hint });

/** The ids of the inbox and the sender, and notes with their names. */
async function readSender(
  { service, team }: DirectCaller,
  { inbox, user }: ScheduleOptions,
  shownInbox?: Id,
): Promise<{ ids: { inboxId: Id; userId?: Id }; notes: Record<string, string> }> {
  const inboxText = inbox ?? (shownInbox === undefined ? undefined : String(shownInbox));
  if (inboxText === undefined) throw usage('Name the inbox that sends it: --inbox');
  const found = await requireNamedInbox(service, inboxText);
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

/** The same value with the keys of each object sorted. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, inOrder(value[key])]));
}

/** A message as the service shows it, and the digest of all its shown fields. */
interface Shown {
  readonly message: ScheduledMessage;
  readonly fields: JsonObject;
  readonly digest: string;
}

/** @throws MusterdError `usage` if the service has no such message */
async function readShown(service: ServiceClient, idText: string): Promise<Shown> {
  const id = readId('The message', idText);
  if (id === undefined) throw usage('Name the message by its id on the service');
  const message = await service.schedule(id);
  if (message === null) throw usage(`The service has no scheduled message ${id}`, 'Look for it in the app.');
  const fields = encodeShown(message) as JsonObject;
  const hash = createHash('sha256').update(toJson(inOrder(fields)));
  return { message, fields, digest: hash.digest('hex').slice(0, 12) };
}

/** Reads and shows the message to change or cancel. @throws MusterdError `usage` if its digest is not `expected` */
async function readExpected(
  context: Context,
  { service }: DirectCaller,
  idText: string,
  expected: string | undefined,
): Promise<Shown> {
  const shown = await readShown(service, idText);
  const { message, fields, digest } = shown;
  printLine(context.err, `The service shows message ${message.id} like this (digest ${digest}):`);
  printFields(context.err, linesOfFields(fields));
  if (message.op === 'delete') throw usage(`Message ${message.id} is cancelled already`);
  if (expected === undefined || expected === digest) return shown;
  throw usage(
    `Nothing was sent: the digest of message ${message.id} is now ${digest}, not ${printable(expected)}`,
    `Look at it again: musterd schedule show ${message.id}`,
  );
}

/** @throws MusterdError `usage` if the message changed while the person was being asked */
async function requireUnchanged(
  { service }: DirectCaller,
  { message: { id }, digest }: Shown,
): Promise<void> {
  const now = await readShown(service, String(id));
  if (now.digest === digest) return;
  throw usage(
    `Nothing was sent: message ${id} changed before you agreed`,
    `Look at it again: musterd schedule show ${id}`,
  );
}

/** A note on the time of a message: `UTC`, or its local time in the given zone. */
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

/** The fields of a message that the service does not show. */
const neverShown = new Set(['phone_number', 'targets', 'user_id', 'is_email']);

/** A line for each field that differs from what the service shows. */
function changesOf(shown: Partial<ScheduleRequest>, { fields }: Shown, body: JsonObject): readonly string[] {
  const meta = isObject(fields['meta']) ? fields['meta'] : {};
  const { executeAt, inboxId, localId } = shown;
  const before = linesOfFields({ ...meta, execute_at: executeAt, inbox_id: inboxId, local_id: localId });
  const after = linesOfFields(body);
  const show = (lines: readonly string[] | undefined) => lines?.join(', ');
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [was, is] = [show(before.get(name)), show(after.get(name))];
    const isHidden = was === undefined && neverShown.has(name);
    return was === is
      ? []
      : [`Changes ${name}: ${was ?? (isHidden ? 'not shown' : 'nothing')} → ${is ?? 'nothing'}`];
  });
}

/** Options that are not fields of a message. */
const howOptions = new Set(['as', 'if', 'json', 'yes', 'zone']);

const hidden =
  'The service never shows the sender or is_email: they are sent only if you give them. Fields unknown to musterd are not sent.';

export const scheduleUpdate = (context: Context, options: ScheduleOptions, text: string): Promise<ExitCode> =>
  withCaller(context, options, async (caller) => {
    if (Object.keys(options).every((name) => howOptions.has(name)))
      throw usage('Say what to change', 'For example --text or --at.');
    const shown = await readExpected(context, caller, text, options.if);
    const { id } = shown.message;
    const before = shownRequest(shown.message, options);
    const { ids, notes } = await readSender(caller, options, before.inboxId);
    const request = readMessage(options, ids, before);
    const body = bodyOf(caller, request);
    return sendConfirmed(context, options, caller, {
      operation: `PUT /v1/schedule/${id}`,
      subject: 'message',
      body,
      id,
      localId: before.localId,
      before: shown.fields,
      notes: { ...notes, execute_at: noteTime(request, options.zone) },
      remarks: [...changesOf(before, shown, body), hidden],
      recheck: () => requireUnchanged(caller, shown),
      send: (how) => caller.service.replaceSchedule(id, request, how),
      words: 'Changed',
    });
  });

export const scheduleCancel = (context: Context, options: ScheduleOptions, text: string): Promise<ExitCode> =>
  withCaller(context, options, async (caller) => {
    const shown = await readExpected(context, caller, text, options.if);
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

/** Shows a message as the service shows it, and a digest by which `update` and `cancel` notice later changes. */
export async function scheduleShow(context: Context, idText: string): Promise<ExitCode> {
  const world = { ...readSettings(context), signal: context.signal };
  const { fields, digest } = await callService(world, 'read', (service) => readShown(service, idText));
  if (context.json) printJson(context, { digest, message: fields });
  else printFields(context.out, new Map([...linesOfFields(fields), ['digest', [digest]]]));
  return exitCode.ok;
}

import { MusterdError } from '../errors.ts';
import { decodeText } from '../files/decode-text.ts';
import { readBytes } from '../files/read-table.ts';
import { maxId } from '../model/id.ts';
import { printable } from '../model/in-words.ts';
import { requireTeamId, requireUser } from '../runs/named-user.ts';
import type { Setup } from '../runs/open.ts';
import {
  cancelMessage,
  explainRequest,
  insertRequest,
  listRequests,
  readDueTime,
  type RequestValues,
  requireInbox,
  requireLocalId,
  resolveMessage,
  updateMessage,
  writeRequests,
} from '../runs/write-requests.ts';
import { confirmationOf } from './confirmation.ts';
import type { Context, ExitCode } from './context.ts';
import { withMirror } from './setup.ts';
import { settledWaitMs } from './show-settled.ts';
import { showList, showRequest, showWritten } from './show-requests.ts';

interface WritingOptions {
  readonly as?: string;
  readonly wait?: string | boolean;
}

interface ColumnOptions {
  readonly inbox?: string;
  readonly user?: string;
  readonly text?: string;
  readonly textFile?: string;
  readonly template?: string;
  readonly at?: string;
  readonly phone?: string;
  readonly to?: readonly string[];
  readonly list?: string;
  readonly conversation?: string;
  readonly attachment?: readonly string[];
  readonly gallery?: readonly string[];
  readonly isEmail?: string;
}

/** Writes in the name of whoever the command line names, and shows what became of it. */
export async function write(
  context: Context,
  options: WritingOptions,
  statements: (setup: Setup) => Promise<Parameters<typeof writeRequests>[2]>,
): Promise<ExitCode> {
  const { actor } = confirmationOf(context, options);
  const waitMs = options.wait === undefined ? undefined : (context.waitMs ?? settledWaitMs);
  return withMirror(context, async (setup) => {
    const how = { actor, waitMs, signal: context.signal };
    return showWritten(context, await writeRequests(setup, how, await statements(setup)));
  });
}

export async function userOf(setup: Setup, text: string): Promise<bigint> {
  return (await requireUser(setup, await requireTeamId(setup), text)).id;
}

function parseList(option: string, texts: readonly string[]): readonly unknown[] {
  return texts.flatMap((text) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new MusterdError('usage', `--${option} is not JSON`, {
        hint: `Write it as '{"name": "map.png", "type": "image/png", "url": "https://…"}'.`,
      });
    }
  });
}

/** The service's id that an option names; nothing in it clears the column. */
function parseId(option: string, text: string | undefined): string | undefined {
  if (text === undefined || text === '' || (/^\d{1,19}$/.test(text) && BigInt(text) <= maxId)) return text;
  throw new MusterdError('usage', `--${option} "${printable(text)}" is not an id of the service`);
}

function parseIsEmail(text: string | undefined): string | undefined {
  if (text === undefined || ['', 'true', 'false'].includes(text)) return text;
  throw new MusterdError('usage', `--is-email is true or false, and not "${printable(text)}"`);
}

const targetColumns = ['phone_number', 'targets', 'list_id', 'conversation_id'] as const;

/** The columns that the options give. An option with nothing in it clears its column. */
async function valuesOf(context: Context, setup: Setup, options: ColumnOptions): Promise<RequestValues> {
  const { inbox, user, text, textFile, template, at, attachment, gallery, isEmail } = options;
  if (text !== undefined && textFile !== undefined)
    throw new MusterdError('usage', 'Give either --text or --text-file');
  const all = {
    inbox_id: inbox === undefined ? undefined : await requireInbox(setup, inbox),
    user_id: user === undefined || user === '' ? user : await userOf(setup, user),
    text:
      textFile === undefined
        ? text
        : decodeText(await readBytes(textFile, context.signal), true).text.replace(/\r?\n$/, ''),
    template_id: parseId('template', template),
    execute_at: at === undefined ? undefined : await readDueTime(setup, at),
    attachments: attachment && parseList('attachment', attachment),
    gallery: gallery && parseList('gallery', gallery),
    is_email: parseIsEmail(isEmail),
  };
  const targets = {
    phone_number: options.phone,
    targets: options.to,
    list_id: parseId('list', options.list),
    conversation_id: parseId('conversation', options.conversation),
  };
  // Another kind of target takes the place of the one before.
  const given = targetColumns.some((name) => targets[name] !== undefined)
    ? Object.fromEntries(targetColumns.map((name) => [name, targets[name] ?? null]))
    : {};
  const values = Object.entries({ ...all, ...given }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(values.map(([name, value]) => [name, value === '' ? null : value]));
}

const messages = 'mirror.scheduled_messages';

export const scheduleCreate = (context: Context, options: ColumnOptions & WritingOptions) =>
  write(context, options, async (setup) => {
    const values = await valuesOf(context, setup, options);
    if (options.inbox === undefined || options.at === undefined)
      throw new MusterdError('usage', 'Say which inbox it is sent from and when: --inbox and --at');
    return async (tx, teamId) => [await insertRequest(tx, messages, teamId, values)];
  });

export const scheduleUpdate = (context: Context, options: ColumnOptions & WritingOptions, localId: string) =>
  write(context, options, async (setup) => {
    const values = await valuesOf(context, setup, options);
    if (Object.keys(values).length === 0)
      throw new MusterdError('usage', 'Say what is to change', { hint: 'For example --text or --at.' });
    return async (tx, teamId) => [await updateMessage(tx, teamId, requireLocalId(localId), values)];
  });

export const scheduleCancel = (context: Context, options: WritingOptions, localIds: readonly string[]) =>
  write(context, options, async () => async (tx, teamId) => {
    const cancelled: (string | null)[] = [];
    for (const localId of localIds) cancelled.push(await cancelMessage(tx, teamId, requireLocalId(localId)));
    return cancelled;
  });

export async function scheduleResolve(
  context: Context,
  options: WritingOptions & { readonly is?: string; readonly wasNotSent?: boolean; readonly reason?: string },
  localId: string,
): Promise<ExitCode> {
  const { is, wasNotSent = false } = options;
  if ((is === undefined) !== wasNotSent)
    throw new MusterdError('usage', 'Say what you have found: --is <id>, or --was-not-sent');
  const id = is === undefined ? null : /^\d{1,19}$/.test(is) ? BigInt(is) : 0n;
  if (id !== null && (id < 1n || id > maxId))
    throw new MusterdError('usage', `"${is}" is not an id of the service`);
  const { why = 'musterd schedule resolve' } = confirmationOf(context, options);
  return write(context, options, async () => async (tx, teamId) => [
    await resolveMessage(tx, teamId, requireLocalId(localId), { id, why }),
  ]);
}

export const scheduleList = (context: Context, { all = false }: { readonly all?: boolean }) =>
  withMirror(context, async (setup) =>
    showList(context, await listRequests(setup, 'message', all ? 'all' : 'open')),
  );

/** Explains one request, whatever it asks for. */
export const showOne = (context: Context, localId: string) =>
  withMirror(context, async (setup) => showRequest(context, await explainRequest(setup, localId)));

/** Reads the options that describe a message, and rejects values that the service would not accept. */
import { MusterdError } from '../../errors.ts';
import { type Id, maxId } from '../../model/id.ts';
import { printable } from '../../model/in-words.ts';
import { fromJson } from '../../model/json.ts';
import type { GalleryEntry, ScheduleContent, ScheduleRequest } from '../../model/message-request.ts';
import { momentMs } from '../../model/moment.ts';
import { isZone, momentsOf } from '../../model/zone-time.ts';
import { isObject } from '../../service/json-object.ts';

export interface MessageOptions {
  readonly text?: string;
  readonly template?: string;
  readonly at?: string;
  readonly zone?: string;
  readonly to?: readonly string[];
  readonly list?: string;
  readonly conversation?: string;
  readonly attachment?: readonly string[];
  readonly gallery?: readonly string[];
  readonly isEmail?: string;
}

const usage = (words: string, hint?: string) => new MusterdError('usage', words, { hint });
const inIso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
const quarterMs = 900_000;

function requireZone(zone: string): void {
  if (!isZone(zone))
    throw usage(`--zone "${printable(zone)}" is not a time zone`, 'Write it as Europe/Berlin.');
}

/** Reads a time with an offset, or a local time in a zone. @returns RFC 3339 in UTC. @throws MusterdError `usage` */
export function readSendTime(at: string, zone: string | undefined): string {
  const text = at.trim();
  const shown = printable(text);
  if (zone !== undefined) requireZone(zone);
  const wallMs = momentMs(text);
  if (Number.isNaN(wallMs) || !text.includes(':'))
    throw usage(
      `--at "${shown}" is not a time`,
      "Write 2027-01-15T09:00:00+01:00, or --at '2027-01-15 09:00' --zone Europe/Berlin.",
    );
  const hasOffset = /(?:[Zz]|[+-]\d\d:?\d\d)$/.test(text);
  if (!hasOffset && zone === undefined)
    throw usage(`--at "${shown}" has no time zone`, 'Add --zone Europe/Berlin, or an offset such as +01:00.');
  const moments = hasOffset || zone === undefined ? [wallMs] : momentsOf(wallMs, zone);
  const [ms] = moments;
  if (ms === undefined)
    throw usage(`${shown} does not exist in ${zone}: clocks skip that time`, 'Give another time.');
  if (moments.length > 1)
    throw usage(
      `${shown} occurs twice in ${zone}: clocks are set back`,
      `Choose one: --at ${moments.map(inIso).join(' or --at ')}.`,
    );
  if (ms % quarterMs !== 0 || /\.\d*[1-9]/.test(text))
    throw usage(
      `--at "${shown}" is not on a quarter of an hour`,
      'The service sends messages at :00, :15, :30 and :45.',
    );
  if (ms >= Date.UTC(10_000, 0)) throw usage(`--at "${shown}" is beyond the year 9999`);
  return inIso(ms);
}

/** @throws MusterdError `usage` if an entry is empty or given twice */
export function readEntries(option: string, given: readonly string[]): readonly string[] {
  const entries = given.flatMap((text) => text.split(/[,;\n]/)).map((entry) => entry.trim());
  if (entries.length === 0 || entries.includes('')) throw usage(`--${option} or one of its entries is empty`);
  const keys = entries.map((entry) => entry.replace(/^\+/, ''));
  const twice = entries.find((_, at) => keys.indexOf(keys[at] ?? '') !== at);
  if (twice === undefined) return entries;
  throw usage(`--${option} has ${printable(twice)} twice`, 'Give each once, with or without a plus sign.');
}

/** Reads phone numbers. Each can be given only once. @throws MusterdError `usage` */
export function readNumbers(given: readonly string[]): readonly string[] {
  const numbers = readEntries('to', given);
  const stranger = numbers.find((number) => !/^\+?[1-9]\d{1,14}$/.test(number));
  if (stranger === undefined) return numbers;
  throw usage(
    `--to "${printable(stranger.slice(0, 100))}" is not a phone number in E.164 form`,
    'Write the country code and the number as digits alone, such as 14155550123, with commas between numbers.',
  );
}

/** @returns `undefined` if the text is empty. @throws MusterdError `usage` */
export function readId(what: string, text: string): Id | undefined {
  if (text === '') return undefined;
  if (/^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= maxId) return BigInt(text);
  throw usage(`${what} "${printable(text)}" is not an id of the service`);
}

/** Our own name for each key of an entry. The command line and the service use the same keys. */
const mediaKeys = {
  attachment: { name: 'name', type: 'type', url: 'url' },
  gallery: {
    url: 'url',
    original_url: 'originalUrl',
    annotation_text: 'annotationText',
    annotation_position: 'annotationPosition',
  },
} as const;
type Media = keyof typeof mediaKeys;
interface MediaEntries {
  readonly attachment: NonNullable<ScheduleContent['attachments']>;
  readonly gallery: readonly GalleryEntry[];
}

/** Reads the entries of an option. @throws MusterdError `usage` */
function readMedia<M extends Media>(option: M, entries: readonly unknown[]): MediaEntries[M] {
  const names: Readonly<Record<string, string>> = mediaKeys[option];
  const needed = option === 'gallery' ? ['url'] : Object.keys(names);
  const read = entries.map((entry) => {
    const given = isObject(entry) ? Object.entries(entry).filter(([, value]) => value !== null) : [];
    const isStrange = given.some(([key, value]) => names[key] === undefined || typeof value !== 'string');
    if (!isStrange && needed.every((key) => given.some(([name]) => name === key)))
      return Object.fromEntries(given.map(([key, value]) => [names[key], value]));
    throw usage(
      `An entry of --${option} has a missing or unknown key, or a value that is not text`,
      `Its keys are ${Object.keys(names).join(', ')}; required: ${needed.join(', ')}.`,
    );
  });
  return read as unknown as MediaEntries[M];
}

/** @returns `undefined` if all texts are empty. @throws MusterdError `usage` */
function parseMedia<M extends Media>(option: M, texts: readonly string[] = []): MediaEntries[M] | undefined {
  const entries = texts.filter(Boolean).flatMap((text) => {
    try {
      return fromJson(text);
    } catch {
      throw usage(`--${option} is not JSON`, 'Write it as \'{"url": "https://…", "name": …}\'.');
    }
  });
  return entries.length === 0 ? undefined : readMedia(option, entries);
}

type Targets = Pick<ScheduleRequest, 'phoneNumber' | 'targets' | 'listId' | 'conversationId'>;

/** The recipients that the options name. @throws MusterdError `usage` */
function readTargets({ to, list, conversation }: MessageOptions): Targets {
  if ([to, list, conversation].filter((given) => given !== undefined).length > 1)
    throw usage('Give one of --to, --list and --conversation');
  if (to !== undefined) {
    const numbers = readNumbers(to);
    const [phoneNumber = ''] = numbers;
    return numbers.length === 1 ? { phoneNumber } : { targets: numbers };
  }
  if (list === '' || conversation === '')
    throw usage(
      'A message needs recipients: --list or --conversation is empty',
      'Give --to, --list or --conversation.',
    );
  const listId = list === undefined ? undefined : readId('--list', list);
  if (listId !== undefined) return { listId };
  const conversationId = conversation === undefined ? undefined : readId('--conversation', conversation);
  if (conversationId !== undefined) return { conversationId };
  throw usage('Name the recipients: --to, --list or --conversation');
}

function readIsEmail(text: string | undefined): boolean | undefined {
  if (text === undefined || text === '') return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw usage(`--is-email must be true or false, not "${printable(text)}"`);
}

/** The message that the options describe. @throws MusterdError `usage` */
export function readMessage(
  options: MessageOptions,
  ids: Pick<ScheduleRequest, 'userId' | 'localId'> & { readonly inboxId: Id },
): ScheduleRequest {
  const { text, template, at, zone, attachment, gallery, isEmail } = options;
  if (at === undefined) throw usage('Give the time to send it: --at');
  return dropEmpty({
    ...ids,
    executeAt: readSendTime(at, zone),
    ...readTargets(options),
    isEmail: readIsEmail(isEmail),
    content: dropEmpty({
      text,
      template: template === undefined ? undefined : readId('--template', template),
      attachments: parseMedia('attachment', attachment),
      gallery: parseMedia('gallery', gallery),
    }),
  }) as ScheduleRequest;
}

const dropEmpty = (values: object): object =>
  Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  );

import { describe, expect, it } from 'vitest';
import { linesOfFields } from '../../src/commands/call/direct-send.ts';
import {
  type MessageOptions,
  readId,
  readMessage,
  readNumbers,
  readSendTime,
} from '../../src/commands/call/message-options.ts';
import { MusterdError, ServiceError } from '../../src/errors.ts';
import { outcomeOf } from '../../src/runs/call/send-once.ts';

const berlin = 'Europe/Berlin';

describe('readSendTime', () => {
  it.each([
    ['2027-01-15 09:00', berlin, '2027-01-15T08:00:00Z'],
    ['2027-01-15T09:15', berlin, '2027-01-15T08:15:00Z'],
    ['2027-01-15T09:30:00+01:00', undefined, '2027-01-15T08:30:00Z'],
    ['2027-01-15T09:45:00Z', berlin, '2027-01-15T09:45:00Z'],
    ['2027-10-31T02:30:00+02:00', berlin, '2027-10-31T00:30:00Z'],
    ['9999-12-31 23:45', 'UTC', '9999-12-31T23:45:00Z'],
  ])('reads --at %s with --zone %s as %s', (at, zone, expected) => {
    expect(readSendTime(at, zone)).toBe(expected);
  });

  it.each([
    ['tomorrow', berlin, '--at "tomorrow" is not a time'],
    ['2027-02-30 09:00', berlin, '--at "2027-02-30 09:00" is not a time'],
    ['2027-01-15', berlin, '--at "2027-01-15" is not a time'],
    ['2027-01-15 09:00', undefined, '--at "2027-01-15 09:00" has no time zone: Add --zone Europe/Berlin'],
    ['2027-01-15 09:00', 'Berlin', '--zone "Berlin" is not a time zone'],
    ['2027-03-28 02:30', berlin, '2027-03-28 02:30 does not exist in Europe/Berlin: clocks skip that time'],
    [
      '2027-10-31 02:30',
      berlin,
      '2027-10-31 02:30 occurs twice in Europe/Berlin: clocks are set back: Choose one: --at 2027-10-31T00:30:00Z or --at 2027-10-31T01:30:00Z.',
    ],
    ['2027-01-15 09:10', berlin, '--at "2027-01-15 09:10" is not on a quarter of an hour'],
    ['2027-01-15 09:00:30', berlin, 'is not on a quarter of an hour'],
    ['2027-01-15 09:00:00.0001', berlin, 'is not on a quarter of an hour'],
    ['9999-12-31T23:45:00-10:00', undefined, 'is beyond the year 9999'],
  ])('refuses --at %s with --zone %s, and the message contains: %s', (at, zone, words) => {
    expect(refusalOf(() => readSendTime(at, zone))).toContain(words);
  });
});

function refusalOf(work: () => unknown): string {
  try {
    return `no refusal, but ${JSON.stringify(work())}`;
  } catch (error) {
    if (!(error instanceof MusterdError)) throw error;
    return `${error.message}: ${error.hint}`;
  }
}

describe('readNumbers', () => {
  it.each([
    [['14155550123'], ['14155550123']],
    [['+14155550123, 4930123456;+33123456789'], ['+14155550123', '4930123456', '+33123456789']],
    [
      ['14155550123', '14155550124'],
      ['14155550123', '14155550124'],
    ],
  ])('splits --to %j into the numbers %j', (given, numbers) => {
    expect(readNumbers(given)).toEqual(numbers);
  });

  it.each([
    [[''], '--to or one of its entries is empty'],
    [['14155550123,'], '--to or one of its entries is empty'],
    [['14155550123,+14155550123'], '--to has +14155550123 twice'],
    [['14155550123', '14155550123'], '--to has 14155550123 twice'],
    [['+44 20 7946 0000'], '--to "+44 20 7946 0000" is not a phone number in E.164 form'],
    [['04155550123'], 'is not a phone number'],
    [['1'], 'is not a phone number'],
    [['1234567890123456'], 'is not a phone number'],
    [['call me'], 'is not a phone number'],
  ])('refuses --to %j, and the message contains: %s', (given, words) => {
    expect(refusalOf(() => readNumbers(given))).toContain(words);
  });
});

it.each([
  ['0', '--list "0" is not an id of the service'],
  ['9223372036854775808', 'is not an id of the service'],
  ['all', 'is not an id of the service'],
])('readId refuses "%s" as the id of --list', (text, words) => {
  expect(refusalOf(() => readId('--list', text))).toContain(words);
});

describe('readMessage', () => {
  const at = '2031-01-15T08:00:00Z';
  const to = ['14155550123'];
  const image = '{"name":"a.png","type":"image/png","url":"https://x.example/a"}';
  const create = (options: MessageOptions) => readMessage({ at, ...options }, { inboxId: 7n });

  it.each<[MessageOptions, object]>([
    [
      { to, text: 'x' },
      { phoneNumber: '14155550123', content: { text: 'x' } },
    ],
    [
      { to: ['+1415,4930'], template: '12' },
      { targets: ['+1415', '4930'], content: { template: 12n } },
    ],
    [
      { list: '5', isEmail: 'true' },
      { listId: 5n, isEmail: true, content: {} },
    ],
    [
      { conversation: '6', isEmail: '', text: '' },
      { conversationId: 6n, content: {} },
    ],
    [
      { to, attachment: [image] },
      { phoneNumber: '14155550123', content: { attachments: [JSON.parse(image)] } },
    ],
    [
      { to, gallery: ['[{"url":"u","original_url":"o"}]'] },
      { phoneNumber: '14155550123', content: { gallery: [{ url: 'u', originalUrl: 'o' }] } },
    ],
  ])('returns a message with the recipients and content of the options %j', (options, expected) => {
    expect(create(options)).toEqual({ inboxId: 7n, executeAt: at, ...expected });
  });

  it.each<[MessageOptions, string]>([
    [{}, 'Name the recipients'],
    [{ list: '' }, 'A message needs recipients'],
    [{ conversation: '' }, 'A message needs recipients'],
    [{ to, list: '5' }, 'Give one of --to, --list and --conversation'],
    [{ list: '5', template: 'x' }, '--template "x" is not an id of the service'],
    [{ list: '5', isEmail: 'maybe' }, '--is-email must be true or false'],
    [{ list: '5', zone: 'Berlin' }, '--zone "Berlin" is not a time zone'],
    [{ list: '5', gallery: ['{'] }, '--gallery is not JSON'],
    [{ list: '5', gallery: ['{"name":"x"}'] }, 'An entry of --gallery has a missing or unknown key'],
    [{ list: '5', attachment: ['{"url":"x"}'] }, 'An entry of --attachment has a missing or unknown key'],
    [{ list: '5', attachment: [image.replace('"a.png"', '1')] }, 'a value that is not text'],
    [{ list: '5', attachment: ['1'] }, 'An entry of --attachment has a missing or unknown key'],
  ])('refuses the options %j, and the message contains: %s', (options, words) => {
    expect(refusalOf(() => create(options))).toContain(words);
  });
});

it('linesOfFields returns one line for each line of a text and each entry of a list', () => {
  const body = {
    id: 9n,
    a: { text: 'x\r\ny', none: null },
    targets: ['1', '2'],
    gallery: [{ url: 'u' }],
    gone: '',
  };
  expect([...linesOfFields(body)]).toEqual([
    ['id', ['9']],
    ['a.text', ['x', 'y']],
    ['targets', ['1', '2']],
    ['gallery', ['{"url":"u"}']],
  ]);
});

const ended = (phase: 'not-sent' | 'sent' | 'answered', status?: number) =>
  new ServiceError(`${phase} ${status ?? ''}`, { operation: 'POST /v1/tag', phase, status });

it.each([
  [ended('not-sent'), 'unsent'],
  [new MusterdError('stopped', 'Stopped on request'), 'unsent'],
  [ended('answered', 400), 'refused'],
  [ended('answered', 401), 'refused'],
  [ended('answered', 404), 'refused'],
  [ended('answered', 429), 'refused'],
  [ended('answered', 408), 'unknown'],
  [ended('answered', 500), 'unknown'],
  [ended('answered', 503), 'unknown'],
  [ended('sent'), 'unknown'],
  [ended('sent', 200), 'unknown'],
  [ended('sent', 400), 'unknown'],
  [new TypeError('x'), 'unknown'],
])('outcomeOf returns "refused" only for 4xx answers except 408: %o returns "%s"', (error, outcome) => {
  expect(outcomeOf(error)).toBe(outcome);
});

/** One fault at a time: what the next run makes of it. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { toConversationRead } from '../../../src/reconcile/requests/message-wire.ts';
import { reconcileRequests } from '../../../src/reconcile/requests/reconcile-requests.ts';
import { createRunNotes } from '../../../src/reconcile/run-notes.ts';
import { createRequestWorld, type RequestWorld } from '../../support/request-world.ts';
import { createPlayedService, Killed, type PlayedFault } from './played-service.ts';

const key = '11111111-1111-4111-8111-111111111111';
const write = {
  tags: true,
  schedule: 'unattended',
  conversations: true,
  maxNewTags: 9,
  maxMessages: 9,
  maxRecipients: 9,
  isReviewed: false,
} as const;

let world: RequestWorld;
let faults: PlayedFault[] = [];
let played: ReturnType<typeof createPlayedService>;
beforeAll(async () => {
  world = await createRequestWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.clear();
  faults = [];
  played = createPlayedService({ localIds: 'unique', sameTag: 'another' }, (isWrite) =>
    isWrite ? (faults.shift() ?? 'none') : 'none',
  );
});

const insert = `insert into mirror.scheduled_messages (team_id, local_id, inbox_id, user_id, text, phone_number, execute_at)
  values (41, '${key}', 7, 1, 'Hello', '15550100', date_trunc('hour', now()) + interval '1 day')`;
/** One run, in which the next writes go so. @returns why it is partial */
async function run(
  next: readonly PlayedFault[] = [],
  sendBlock?: 'copy',
  schedule: 'unattended' | false = 'unattended',
): Promise<readonly string[]> {
  faults = [...next];
  const notes = createRunNotes();
  const mirror = { requests: world.requests, requireLease: () => undefined };
  const places = { runId: 7n, service: played.service, mirror, notes, sendBlock };
  await reconcileRequests(places as never, { ...write, schedule }, 600_000, false).catch((error: unknown) => {
    if (!(error instanceof Killed)) throw error;
  });
  return notes.reasons;
}
const age = () =>
  world.force(`update sync.changes set sent_at = sent_at - interval '1 hour' where state = 'open'`);
const learn = (localIds: string) =>
  world.force(
    `insert into sync.learned (team, topic, value) values ('north', 'schedule', '{"local_ids": "${localIds}"}')`,
  );
const state = async () => (await world.query('select state from mirror.scheduled_messages'))[0]?.['state'];
const texts = () => [...played.messages.values()].map(({ request }) => request.content.text);

it('in a copy nothing of it happens', async () => {
  await world.as('anna', insert);
  expect(await run([], 'copy')).toEqual([]);
  expect([await state(), texts()]).toEqual(['waiting', []]);
});

it('what was written down and never left is sent by the next run, without a wait', async () => {
  await world.as('anna', `insert into mirror.tags (team_id, tag) values (41, 'VIP'); ${insert}`);
  await run(['killed before']);
  await run(['killed before']);
  expect(await run()).toEqual([]);
  expect([played.tags.length, texts(), await state()]).toEqual([1, ['Hello'], 'scheduled']);
});

it('a replacement that was lost is sent again once it can no longer arrive late', async () => {
  await world.as('anna', insert);
  await run();
  await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
  expect(await run(['lost before'])).toHaveLength(1);
  expect(await run()).toHaveLength(1);
  expect(texts()).toEqual(['Hello']);
  await age();
  expect(await run()).toEqual([]);
  expect([texts(), await state()]).toEqual([['Bye'], 'scheduled']);
});

it('a cancel that was lost is sent again at once', async () => {
  await world.as('anna', insert);
  await run();
  await world.as('anna', 'delete from mirror.scheduled_messages');
  await run(['lost before']);
  expect(await run()).toEqual([]);
  expect([await state(), played.messages.values().next().value?.isCancelled]).toEqual(['cancelled', true]);
});

it('a create that is sent again and refused says nothing about the first: only a person can find out', async () => {
  await learn('unique');
  await world.as('anna', insert);
  await run(['late']);
  expect(await state()).toBe('waiting');
  expect(await run(['refused'])).toEqual([expect.stringContaining('musterd schedule resolve')]);
  expect(await state()).toBe('unknown');
});

it('a create is not sent again once nobody may schedule messages any more', async () => {
  await learn('unique');
  await world.as('anna', insert);
  await run(['lost before']);
  expect(await run([], undefined, false)).toEqual([expect.stringContaining('write.schedule is off')]);
  expect([await state(), texts()]).toEqual(['waiting', []]);
  expect(await run()).toEqual([]);
  expect([await state(), texts()]).toEqual(['scheduled', ['Hello']]);
});

it('a create that is throttled when it is sent again stays open', async () => {
  await learn('unique');
  await world.as('anna', insert);
  await run(['late']);
  expect(await run(['throttled'])).not.toEqual([]);
  expect(await state()).toBe('waiting');
  played.arrive();
  expect(await run()).toEqual([]);
  expect([await state(), texts()]).toEqual(['scheduled', ['Hello']]);
});

it('a create that is throttled is sent by the next run: the service has not taken it', async () => {
  await learn('ignored');
  await world.as('anna', insert);
  expect(await run(['throttled'])).toHaveLength(1);
  expect([await state(), texts()]).toEqual(['waiting', []]);
  expect(await run()).toEqual([]);
  expect([await state(), texts()]).toEqual(['scheduled', ['Hello']]);
});

it('a message is sent with every column that was asked for', async () => {
  // A list of a known size is within the limits.
  await world.force('update mirror.teams set list_size = 5');
  const content = {
    text: 'Hello',
    template: 12n,
    attachments: [{ name: 'a', type: 'b', url: 'c' }],
    gallery: [{ annotationPosition: 'd', annotationText: 'e', originalUrl: 'f', url: 'g' }],
  };
  const asked = { inboxId: 7n, userId: 1n, executeAt: '2031-01-01T10:15:00Z', isEmail: true, localId: key };
  const [attachments, gallery] = [
    JSON.stringify(content.attachments),
    '[{"annotation_position": "d", "annotation_text": "e", "original_url": "f", "url": "g"}]',
  ];
  for (const [column, value, target] of [
    ['conversation_id', '5', { conversationId: 5n }],
    ['list_id', '5', { listId: 5n }],
    ['phone_number', `'15550100'`, { phoneNumber: '15550100' }],
    ['targets', `'{15550100,15550101}'`, { targets: ['15550100', '15550101'] }],
  ] as const) {
    await world.clear();
    played.messages.clear();
    await world.as(
      'anna',
      `insert into mirror.scheduled_messages
         (team_id, local_id, inbox_id, user_id, text, template_id, attachments, gallery, is_email, ${column}, execute_at)
       values (41, '${key}', 7, 1, 'Hello', 12, '${attachments}', '${gallery}', true, ${value}, '${asked.executeAt}')`,
    );
    expect(await run()).toEqual([]);
    expect([...played.messages.values()].map(({ request }) => request)).toEqual([
      { ...asked, ...target, content },
    ]);
  }
});

it('a conversation is marked as read with every column that was asked for', () => {
  const wanted = { inbox_id: 7, user_id: 1, targets: ['15550100', '15550101'], reassign_id: 2 };
  const asked = { inboxId: 7n, userId: 1n, reassignId: 2n };
  expect(toConversationRead(wanted)).toEqual({ ...asked, targets: ['15550100', '15550101'] });
  expect(toConversationRead({ ...wanted, targets: null, target: '15550100' })).toEqual({
    ...asked,
    target: '15550100',
  });
});

it('a message that was taken back while its create got no answer is found and cancelled', async () => {
  await learn('unique');
  await world.as('anna', insert);
  await run(['lost after']);
  await world.as('anna', 'delete from mirror.scheduled_messages');
  await run();
  await run();
  expect([await state(), [...played.messages.values()].map(({ isCancelled }) => isCancelled)]).toEqual([
    'cancelled',
    [true],
  ]);
});

/**
 * Random runs of one message and one tag: requests are lost, late, doubled, answered in part or refused, processes are
 * killed between any two steps, and people edit, cancel, approve and reject meanwhile, on both sides.
 * `REQUEST_RUNS=1000 npx vitest run test/reconcile/requests/random-requests.test.ts` plays a thousand of each.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequestMirror } from '../../../src/reconcile/ports.ts';
import { reconcileRequests } from '../../../src/reconcile/requests/reconcile-requests.ts';
import { canonicalTag } from '../../../src/reconcile/requests/send-request.ts';
import { createRunNotes } from '../../../src/reconcile/run-notes.ts';
import { createRandom } from '../../../src/emulator/random.ts';
import { createRequestWorld, type RequestWorld } from '../../support/request-world.ts';
import {
  createPlayedService,
  faults,
  Killed,
  type PlayedFault,
  type PlayedVariants,
} from './played-service.ts';

const runs = Number(process.env['REQUEST_RUNS'] ?? 20);
const key = '11111111-1111-4111-8111-111111111111';
const quietPeriodMs = 60_000;

let world: RequestWorld;
beforeAll(async () => {
  world = await createRequestWorld();
});
afterAll(() => world.close());

const settings = {
  tags: true,
  schedule: true,
  conversations: true,
  maxNewTags: 100,
  maxMessages: 100,
  maxRecipients: 1000,
  isReviewed: false,
} as const;

const acts = {
  edit: (n: number) =>
    `update mirror.scheduled_messages set text = 'text ${n}' where not cancels and state not in ('past', 'cancelled')`,
  delete: () => `delete from mirror.scheduled_messages where state not in ('past', 'cancelled')`,
  tagAgain: () => `insert into mirror.tags (team_id, tag) values (41, 'vip')`,
} as const;

async function approve(): Promise<void> {
  for (const { batch } of await world.query(`select batch from report.held where batch is not null`))
    await world.as('ben', `select sync.approve('${String(batch)}')`);
}

/** Plays one seed. @returns what is wrong in the end, and what happened */
async function play(seed: number, variants: PlayedVariants, isKnown: boolean) {
  const source = createRandom(seed);
  const random = () => source.fraction();
  const trace: string[] = [];
  let isCalm = false;
  // What something on the way doubles is two where the service tells nothing apart: nobody here can prevent that.
  const usual: readonly PlayedFault[] = faults.filter(
    (fault) =>
      fault !== 'refused' &&
      (fault !== 'doubled' || (variants.localIds === 'unique' && variants.sameTag !== 'another')),
  );
  const played = createPlayedService(variants, (write) => {
    const fault = isCalm || random() < 0.4 ? 'none' : source.pick(usual);
    const is =
      write || fault === 'none' || fault.startsWith('killed') || fault === 'lost before' ? fault : 'none';
    trace.push(is);
    return is;
  });
  /** A process that may end before or after each step in the database. */
  const mortal = new Proxy(world.requests, {
    get: (target, name: keyof RequestMirror) => {
      const step = target[name] as (...given: unknown[]) => Promise<unknown>;
      return async (...given: unknown[]) => {
        const end = isCalm ? 1 : random();
        if (end < 0.03) throw new Killed();
        const result = await step(...given);
        if (end > 0.97 && !isCalm) throw new Killed();
        return result;
      };
    },
  });
  const run = async (readsAgain: boolean) => {
    const places = {
      runId: 7n,
      service: played.service,
      mirror: { requests: mortal, requireLease: () => undefined },
      notes: createRunNotes(),
    };
    await reconcileRequests(places as never, settings, quietPeriodMs, readsAgain).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
      trace.push('killed');
    });
  };
  /** Whatever was under way has arrived, and the quiet period is over. */
  const settle = async () => {
    played.arrive();
    await world.force(
      `update sync.changes set sent_at = sent_at - interval '1 hour', opened_at = opened_at - interval '1 hour' where state = 'open'`,
    );
  };

  await world.clear(`{"tags": true, "schedule": true, "conversations": true}`);
  if (isKnown)
    await world.force(
      `insert into sync.learned (team, topic, value) values ('north', 'schedule', '{"local_ids": "${variants.localIds}"}')`,
    );
  await world.as(
    'anna',
    `insert into mirror.scheduled_messages (team_id, local_id, inbox_id, user_id, text, phone_number, execute_at)
      values (41, '${key}', 7, 1, 'text 0', '15550100', date_trunc('hour', now()) + interval '1 day');
    insert into mirror.tags (team_id, tag) values (41, 'VIP')`,
  );
  for (let turn = 1; turn <= 6; turn += 1) {
    const act = random();
    if (act < 0.25) await world.as('anna', acts.edit(turn));
    else if (act < 0.32) await world.as('anna', acts.delete());
    else if (act < 0.4) await world.as('anna', acts.tagAgain());
    else if (act < 0.45)
      for (const id of played.messages.keys()) played.changeThere(id, { isCancelled: true });
    trace.push(
      act < 0.25
        ? 'edit'
        : act < 0.32
          ? 'delete'
          : act < 0.4
            ? 'tag again'
            : act < 0.45
              ? 'cancelled there'
              : '-',
    );
    if (random() < 0.8) await approve();
    await run(random() < 0.3);
    if (random() < 0.5) await settle();
  }
  isCalm = true;
  for (let turn = 0; turn < 4; turn += 1) {
    await settle();
    await approve();
    await run(true);
  }
  return { trace, wrong: await findWrong(played, variants, isKnown) };
}

/** What must not be in the end. */
async function findWrong(
  { messages, tags }: ReturnType<typeof createPlayedService>,
  { localIds }: PlayedVariants,
  isKnown: boolean,
): Promise<readonly string[]> {
  const [row] = await world.query('select id, state, cancels, text, base from mirror.scheduled_messages');
  const made = [...messages.values()];
  const alive = made.filter(({ isCancelled }) => !isCancelled);
  const state = String(row?.['state']);
  const named = tags.filter(({ tag }) => canonicalTag(tag) === 'vip');
  const rows = await world.query('select id from mirror.tags');
  const open = await world.query(`select from sync.changes where state = 'open'`);
  const checks: readonly (readonly [boolean, string])[] = [
    [made.length <= 1, `${made.length} messages were made`],
    [
      state === 'unknown' || alive.length === (state === 'scheduled' ? 1 : 0),
      `${alive.length} messages are there, and it is ${state}`,
    ],
    [
      ['scheduled', 'cancelled', ...(localIds === 'unique' && isKnown ? [] : ['unknown'])].includes(state),
      `the message is ${state}`,
    ],
    [
      state !== 'scheduled' || alive[0]?.request.content.text === row?.['text'],
      'the service has another text',
    ],
    [state !== 'scheduled' || row?.['cancels'] === false, 'it was to be cancelled'],
    [named.length === 1, `${named.length} tags were made`],
    [rows.length === 1 && rows[0]?.['id'] === named[0]?.id, `the mirror has ${rows.length} tags`],
    [open.length === (state === 'unknown' ? 1 : 0), `${open.length} pushes are open`],
  ];
  return checks.flatMap(([isRight, words]) => (isRight ? [] : [words]));
}

describe.each<[string, PlayedVariants, boolean]>([
  ['local ids are known to be unique', { localIds: 'unique', sameTag: 'existing' }, true],
  ['local ids are ignored', { localIds: 'ignored', sameTag: 'another' }, true],
  ['nobody knows what local ids do', { localIds: 'unique', sameTag: 'refused' }, false],
])('%s', (_, variants, isKnown) => {
  it(`there is one tag, and never a second message, in ${runs} random runs`, {
    timeout: 3_600_000,
  }, async () => {
    const broken: unknown[] = [];
    for (let seed = 1; seed <= runs && broken.length < 3; seed += 1) {
      const { trace, wrong } = await play(seed, variants, isKnown);
      if (wrong.length > 0) broken.push({ seed, wrong, trace: trace.join(', ') });
    }
    expect(broken).toEqual([]);
  });
});

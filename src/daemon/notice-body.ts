/** The body of a notice: fields for a program, with a `text` that chat tools show. There is no personal data in it. */
import { type HeldReason, holdReasons, needDecision } from '../model/edit-state.ts';
import type { FailedRun, RefusedCredentials, WaitingBatch } from '../mirror/runs/told.ts';
import { quoted } from '../model/in-words.ts';
import { placeInWords, type Placing } from '../model/place.ts';
import { batchInWords } from '../model/waiting.ts';
import type { GroupStanding, Notice, TeamEvent } from '../model/notices.ts';
import { showTime } from '../model/zone-time.ts';

/** The current state of a team. */
export interface TeamFacts {
  readonly team: string;
  readonly groups: readonly GroupStanding[];
  readonly failedRuns: readonly FailedRun[];
  readonly refused: RefusedCredentials | undefined;
  readonly batches: readonly WaitingBatch[];
  readonly held: readonly { readonly reason: HeldReason; readonly count: number; readonly sinceMs: number }[];
  readonly placing: Placing;
}

/** The body before it is encoded as JSON. */
export interface NoticeFields {
  readonly id: string;
  readonly event: TeamEvent | 'recovered' | 'test';
  readonly team: string;
  /** Markdown for chat tools: what happened, and on the next line the command, if there is one. */
  readonly text: string;
  /** The command that a person should run, or `null` if there is nothing to do. */
  readonly command: string | null;
  readonly [fact: string]: unknown;
}

const isoOf = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
const commandOf = (team: string, words: string) => `musterd --team ${quoted(team)} ${words}`;
const list = (words: readonly string[]) => words.join(', ');

/** The message of one event, with its facts and the command to type. */
interface NoticeContent {
  readonly text: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly command: string;
}

function describeGroups({ team, groups, failedRuns }: TeamFacts, isFailing: boolean): NoticeContent {
  const stale = groups.filter(
    ({ fresh, outcome }) => !fresh && (!isFailing || outcome === 'failed' || outcome === 'partial'),
  );
  const rows = stale.map(({ group, outcome, sinceMs }) => {
    const run = failedRuns.find((failed) => failed.group === group);
    const lastRun = isFailing ? { outcome, error: run?.errorCode ?? null, run: run?.runId ?? null } : {};
    return { group, since: isoOf(sinceMs), ...lastRun };
  });
  const groupWords = rows.map(({ group, outcome, error }) => {
    const why = typeof error === 'string' ? ` (${error})` : '';
    return isFailing ? `${group} ${outcome}${why}` : group;
  });
  return {
    text: isFailing
      ? `runs do not complete: ${list(groupWords)}`
      : `no complete run for too long: ${list(groupWords)}`,
    facts: { groups: rows },
    command: commandOf(team, 'status'),
  };
}

function wordsOf({ unit, count }: WaitingBatch): string {
  return unit === 'users' ? batchInWords(count) : `${count} missing ${unit.replace('_', ' ')}`;
}

function describeBatches({ team, batches }: TeamFacts): NoticeContent {
  const rows = batches.map(({ hash, unit, count, sinceMs }) => ({
    hash,
    of: unit,
    count,
    since: isoOf(sinceMs),
    command: commandOf(team, `approve ${hash} --reason '…'`),
  }));
  return {
    text: `${list(batches.map(wordsOf))} need a decision; "${commandOf(team, 'plan')}" shows what a run would do`,
    facts: { batches: rows },
    command: rows[0]?.command ?? commandOf(team, 'status'),
  };
}

function describeHeld({ team, held }: TeamFacts): NoticeContent {
  const count = held.reduce((sum, row) => sum + row.count, 0);
  const counts = list(held.map((row) => `${row.count} ${holdReasons[row.reason].words}`));
  return {
    text: `${count === 1 ? '1 field' : `${count} fields`} ${needDecision(count)}: ${counts}`,
    facts: { held: Object.fromEntries(held.map((row) => [row.reason, row.count])) },
    command: commandOf(team, 'held'),
  };
}

function describePlace({ team, placing }: TeamFacts): NoticeContent {
  return {
    text: placeInWords(placing),
    facts: { at: placing.here.address.at, known_at: placing.known?.addresses.map(({ at }) => at) ?? [] },
    command: commandOf(team, 'status'),
  };
}

function describeEvent(event: TeamEvent, facts: TeamFacts): NoticeContent {
  switch (event) {
    case 'failing':
    case 'stale':
      return describeGroups(facts, event === 'failing');
    case 'credentials-refused':
      return {
        text: 'the service refuses the credentials, so nothing is pulled or pushed',
        facts: { run: facts.refused?.runId ?? null },
        command: commandOf(facts.team, 'check'),
      };
    case 'batch-waits':
      return describeBatches(facts);
    case 'fields-held':
      return describeHeld(facts);
    case 'elsewhere':
      return describePlace(facts);
    default:
      return event satisfies never;
  }
}

const ends: Readonly<Record<TeamEvent, string>> = {
  failing: 'runs complete again',
  stale: 'the mirror is up to date again',
  'credentials-refused': 'the service accepts the credentials again',
  'batch-waits': 'no push and no missing row waits for an approval any more',
  'fields-held': 'no conflict, refused value or single limit needs a decision any more',
  elsewhere: 'the place of this mirror is known again',
};

export function describeNotice(
  event: TeamEvent,
  { id, stands, reminder, sinceMs, madeAtMs }: Notice,
  facts: TeamFacts,
): NoticeFields {
  const { team } = facts;
  const since = isoOf(sinceMs);
  if (!stands) {
    const text = `${team}: ${ends[event]}, after ${showTime(new Date(sinceMs))}`;
    return {
      id,
      event: 'recovered',
      was: event,
      team,
      since,
      until: isoOf(madeAtMs),
      text,
      command: null,
    };
  }
  const { text, facts: more, command } = describeEvent(event, facts);
  return {
    id,
    event,
    team,
    since,
    reminder,
    text: `${team}: ${reminder ? 'still ' : ''}since ${since}, ${text}\n\`${command}\``,
    command,
    ...more,
  };
}

/** The body that "musterd check --notify-probe" sends. */
export const describeProbe = (id: string, team: string): NoticeFields => ({
  id,
  event: 'test',
  team,
  text: `${team}: a test of notify.url by "musterd check"; no action is needed`,
  command: null,
});

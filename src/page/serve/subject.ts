/** Finds the rows that a form is about, and carries out its decision in the name of the person who logged in. */
import type { Config } from '../../config/config.ts';
import { MusterdError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { columnOf, fieldColumns, fields } from '../../model/fields.ts';
import { shownDigest } from '../../model/shown-field.ts';
import { readPerson } from '../read/page-person.ts';
import type { PageReader } from '../read/page-reader.ts';
import { type FieldOnHold, readHeldRows, readSending, readWaitingLists } from '../read/page-waiting.ts';
import { decides, ofBatch, shownKey } from '../render/decide-form.ts';
import type { Question } from '../render/question.ts';
import { tallyOf } from '../render/hold-words.ts';
import { count } from '../render/words.ts';
import { approve, reject } from '../../runs/decide/approve-batch.ts';
import { endHold, holdFields, readUntil } from '../../runs/decide/hold-fields.ts';
import { readValue } from '../../runs/decide/read-take.ts';
import { readField } from '../../runs/named-user.ts';
import type { Mirror } from '../../runs/open.ts';
import { resolveAll } from '../../runs/decide/resolve-field.ts';
import { applyUndo, planUndo } from '../../runs/decide/undo-run.ts';
import { type DecisionForm, only, readDecisionForm, readReason, unreadable } from './decision-form.ts';
import { momentsOf, shownZone } from '../../model/zone-time.ts';

export interface Deciding {
  readonly mirror: Mirror;
  readonly log: Log;
  readonly configs: () => readonly Config[];
}

/** @returns the address of the receipt, or empty to go back to the form's page. @throws MusterdError if the rows have changed */
type CarryOut = (why: string) => Promise<string>;

export interface Subject {
  /** The confirmation to ask for; `null` if the decision needs no confirmation. */
  readonly question: Omit<Question, 'back'> | null;
  readonly carryOut: CarryOut;
}

interface Posted {
  readonly config: Config;
  readonly form: URLSearchParams;
  readonly actor: string | undefined;
}

/** How long a page waits for the lease: less than a command does. After that, the person has to try again. */
const waitMs = 3_000;
const refuse = (words: string): never => {
  throw new MusterdError('usage', words);
};

/** The address of the receipt of a decision. @throws MusterdError `usage` if nothing was decided */
const doneAt = (decision: bigint | null): string =>
  decision === null
    ? refuse('All rows were edited, or changed on the service, while you looked')
    : `/waiting?done=${decision}`;

function endOf(form: URLSearchParams) {
  const [how, moment = ''] = (form.get('until') ?? '').split(' ');
  try {
    if (how !== 'at') return readUntil(moment);
    const typed = readUntil(form.get('at') ?? '');
    const [at = Number.NaN] = 'moment' in typed ? momentsOf(Date.parse(typed.moment), shownZone()) : [];
    return readUntil(new Date(at).toISOString());
  } catch {
    return refuse('The end of the hold is missing: choose a time, or type one');
  }
}

const leasedHere = ({ team, lease, push }: Config) => ({ team, lease: { ...lease, waitMs }, push });

/** Restores the values from before a run as edits. They count as approved, unless another person has to approve them. */
async function undoOf(by: Deciding, { config, form, actor }: Posted, reader: PageReader): Promise<Subject> {
  const run = BigInt(/^\d{1,18}$/.exec(only(form, 'run'))?.[0] ?? 0);
  const { teamId, changes, left } = await planUndo(reader.db, config, run);
  const reasons = tallyOf(left, ({ reason }) => reason).map(({ what, rows }) => `${count(rows)} ${what}`);
  const besides = left.length === 0 ? '' : `Left as it is: ${reasons.join(', ')}.`;
  if (changes.length === 0) return refuse(`Run ${count(run)} has nothing to take back. ${besides}`.trim());
  const moves = changes.map(({ userId, field, from, to }) => [userId, field, from, to]);
  const seen = shownDigest({ edit: run, mirror: null, service: moves });
  if (form.get('confirmed') !== null && only(form, 'seen') !== seen)
    refuse('The values that the run moved changed again while you looked. Look at them and press again');
  return {
    question: {
      verb: 'undo',
      rows: changes.map(({ userId, name, field, from, to }) => {
        const sides = { mirror: from, service: from, base: to };
        return { teamId, userId, name, field: columnOf(field), ...sides, editedBy: null, editedAt: null };
      }),
      number: changes.length,
      all: changes.length,
      besides,
      sending: await readSending(reader),
      values: { verb: 'undo', team: config.team, run: String(run), seen },
    },
    carryOut: async (why) => {
      const { decision } = await applyUndo(by.mirror.db, leasedHere(config), run, { actor, why });
      return decision === null ? '/waiting?note=undone' : doneAt(decision);
    },
  };
}

/** Begins or ends a hold on fields of a user. It needs no confirmation, because it sends nothing. */
async function holdOf(by: Deciding, { config, form, actor }: Posted, reader: PageReader): Promise<Subject> {
  const person = await readPerson(reader, form.get('user') ?? '');
  if (person === null || person.row.gone_at !== null) return refuse('No user with this id is in the team');
  const named = form.getAll('field');
  if (named.length === 0 || !named.every((one) => ['all', ...fieldColumns].includes(one)))
    throw unreadable('it names no field');
  const wanted = { id: person.id, fields: named.includes('all') ? fields : named.map(readField) };
  const leased = leasedHere(config);
  const setup = { config, log: by.log, mirror: by.mirror };
  const isEnd = form.get('verb') === 'end';
  const wish = isEnd ? null : { ...wanted, end: endOf(form), why: readReason(form), actor };
  return {
    question: null,
    carryOut: async () => {
      if (wish !== null) await holdFields(setup, leased, wish);
      else if ((await endHold(setup, leased, wanted)).length === 0) refuse('It is no longer held on request');
      return '';
    },
  };
}

function requireUnmoved({ rows, verb, batch }: DecisionForm, now: readonly FieldOnHold[]): void {
  const isOfIt = (row: FieldOnHold) => !ofBatch.has(verb) || row.batch === batch;
  const asShown = new Set(now.filter(isOfIt).map(shownKey));
  const all = rows ?? [];
  const moved = all.filter(({ key }) => !asShown.has(key)).length;
  if (moved > 0)
    refuse(
      all.length === 1
        ? 'It was edited, or changed on the service, while you looked. Look at it and press again; if it is not here, the next run decides about the new edit'
        : `${count(moved)} of the ${count(all.length)} rows were edited, or changed on the service, while you looked. The other rows are ticked below; look at them and press again`,
    );
}

/** Decides about the rows `now`; if it is `null`, about missing rows of a listing. @returns the address of the receipt */
async function decide(
  { log, mirror }: Deciding,
  { config, form, actor }: Posted,
  { verb, batch, all }: DecisionForm,
  { now, why }: { readonly now: readonly FieldOnHold[] | null; readonly why: string },
): Promise<string> {
  const setup = { config, log, mirror };
  if (verb === 'mirror' || verb === 'service' || verb === 'value') {
    const resolutions = (now ?? []).map((row) => {
      const field = readField(row.field);
      const seen = { kind: 'shown', digest: shownKey(row).slice(-12) } as const;
      const take = verb === 'value' ? { value: readValue(field, only(form, 'value')) } : verb;
      return { id: row.userId, field, take, seen, why, actor };
    });
    return doneAt((await resolveAll(setup, resolutions)).decision);
  }
  const edits = now?.flatMap(({ editId }) => (editId === null ? [] : [editId])) ?? null;
  const choice = { batch: batch ?? '', only: null, edits, rows: edits === null ? all : null, why, actor };
  const decided = await (verb === 'approve'
    ? approve(setup, choice)
    : reject(setup, { ...choice, revert: verb !== 'reject' }));
  return 'fields' in decided ? doneAt(decided.decision) : '/waiting?note=gone';
}

/** Refuses rows that changed since they were shown. @returns the rows that the verb fits; `null`: rows of a listing */
function rowsNow(decision: DecisionForm, ticked: readonly FieldOnHold[], total: number) {
  const { rows, verb, all } = decision;
  if (rows === null) {
    if (total === all) return null;
    return refuse(
      total === 0 ? 'No row of it waits now' : `It has ${count(total)} rows now, not ${count(all)}`,
    );
  }
  if (rows.length === 0) refuse('No row is ticked. Tick those that you want to decide');
  requireUnmoved(decision, ticked);
  const now = ticked.filter((row) => decides(verb, row));
  return now.length > 0
    ? now
    : refuse(
        'This decides none of the ticked rows: approve or reject the rows that a limit holds, and choose a side for other rows',
      );
}

/** @throws MusterdError `usage` for a form that the page did not make, or if a row has changed since it was shown */
export async function subjectOf(by: Deciding, posted: Posted, reader: PageReader): Promise<Subject> {
  const { config, form } = posted;
  if (['hold', 'end'].includes(form.get('verb') ?? '')) return await holdOf(by, posted, reader);
  if (form.get('verb') === 'undo') return await undoOf(by, posted, reader);
  const decision = readDecisionForm(form);
  const { verb, rows, batch, all } = decision;
  const { lists, missing } = await readWaitingLists(reader);
  const total =
    rows === null
      ? (missing.find(({ hash }) => hash === batch)?.rows ?? 0)
      : (lists.find((one) => one.batch === batch && batch !== null)?.rows ?? all);
  const now = rowsNow(decision, rows === null ? [] : await readHeldRows(reader, rows), total);
  const number = now?.length ?? total;
  const whole = verb === 'withdraw' ? number : Math.max(total, number);
  return {
    question: {
      verb,
      rows: now ?? [],
      number,
      all: whole,
      besides: whole === number ? '' : `Still waiting: ${count(whole - number)}.`,
      sending: await readSending(reader),
      values: {
        verb,
        team: config.team,
        batch: batch ?? '',
        rows: String(all),
        row: (now ?? []).map(shownKey),
        ...(now === null ? {} : { ticks: 'on' }),
      },
    },
    carryOut: (why) => decide(by, posted, decision, { now, why }),
  };
}

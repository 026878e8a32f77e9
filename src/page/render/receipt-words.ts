/** Words for what became of a decision. */
import type { FollowedDecision } from '../read/page-decided.ts';
import type { Sending } from '../read/page-waiting-view.ts';
import { type Deed, type Fate, fates, perRequest } from '../../model/waiting-page.ts';
import { fieldTitle, fieldWords } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, to } from './links.ts';
import { knownAs, value } from './three-values.ts';
import { type PageContext, teamOf } from './view.ts';
import { at, count, many, named } from './words.ts';

const minuteMs = 60_000;

const pastOf: Readonly<Record<Deed, string>> = {
  approve: 'approved',
  reject: 'rejected',
  withdraw: 'withdrawn',
  mirror: 'taken',
  service: 'taken',
  value: 'set',
};

/** `58 approved`, `37 of the service’s phone numbers taken`, `Email of Ada Berg set to ada@example.com` */
export function deedOf(context: PageContext, decided: FollowedDecision): Html {
  const { decision, rows, fields } = decided;
  const [field = ''] = fields;
  const n = `${decided.isMore ? 'More than ' : ''}${count(rows)}`;
  const past = pastOf[decision];
  if (decision === 'value') {
    const ofPerson = context.details && decided.name ? html` of ${named(decided.name)}` : none;
    return html`${fieldTitle(field)}${ofPerson} set to ${value(context, field, knownAs(context, { ...decided, field }, decided.value))}`;
  }
  if (decision === 'mirror' || decision === 'service') {
    const [singular, plural] = fields.length === 1 ? fieldWords(field) : ['value', 'values'];
    return rows === 1
      ? html`The ${decision}’s ${singular} ${past}`
      : html`${n} of the ${decision}’s ${plural} ${past}`;
  }
  return html`${n} ${past}`;
}

/** `in run 4,824`; for several, how many. */
function inRuns(context: PageContext, { runs }: FollowedDecision): Html {
  const [only] = runs;
  if (only === undefined) return none;
  return runs.length === 1
    ? html` in <a href="${to(context, `/runs/${only}`)}">run ${count(only)}</a>`
    : html` in ${many(runs.length, 'run')}`;
}

/** A sentence about a part of the edits, or about all of them. */
interface ReceiptPart {
  readonly context: PageContext;
  readonly decided: FollowedDecision;
  readonly isOne: boolean;
  /** The subject with its verb: `It was` or `They were` alone, `2 were` among others. */
  readonly is: (single: string, more: string) => string;
}

/** Says why an edit that nobody has sent is in the mirror. */
function keptWords({ context, decided: { decision, at: decidedAt }, isOne, is }: ReceiptPart): Html {
  if (decision === 'reject')
    return html`${is('stays', 'stay')} in the mirror, and ${isOne ? 'is' : 'are'} not sent before somebody edits ${isOne ? 'it' : 'them'} again`;
  return decision === 'withdraw'
    ? html`${is('is', 'are')} in the mirror as last agreed`
    : html`${is('is', 'are')} in the mirror since ${at(decidedAt, context.now, true)}`;
}

function sentWords({ context, decided, isOne, is }: ReceiptPart): Html {
  const { sentAt } = decided;
  const since = sentAt === null ? none : html` since ${at(sentAt, context.now, true)}`;
  return html`${is('was', 'were')} sent${inRuns(context, decided)} and ${isOne ? 'is' : 'are'} confirmed${since}`;
}

const fateWords: Readonly<Record<Exclude<Fate, 'asked'>, (part: ReceiptPart) => Html>> = {
  sent: sentWords,
  leaving: ({ context, decided, isOne, is }) =>
    html`${is('is', 'are')} on ${isOne ? 'its' : 'their'} way${inRuns(context, decided)}`,
  refused: ({ isOne, is }) =>
    html`${is('was', 'were')} refused by the service and ${isOne ? 'waits' : 'wait'} for somebody`,
  coming: ({ is }) => html`${is('goes', 'go')} with the next run`,
  edited: ({ isOne, is }) =>
    html`${is('was', 'were')} edited meanwhile and ${isOne ? 'waits' : 'wait'} again`,
  waits: ({ decided: { decision }, is }) =>
    html`${is('waits', 'wait')} ${decision === 'value' ? 'for somebody' : 'again'}`,
  decided: ({ is }) => html`${is('was', 'were')} decided about again`,
  moved: ({ is }) => html`${is('was', 'were')} edited again or taken back meanwhile`,
  kept: keptWords,
};

/** Says one part; the parts add up to all of it. */
function partOf(context: PageContext, decided: FollowedDecision, fate: Fate, n: number): Html {
  const isAlone = n === decided.rows;
  if (fate === 'asked') return isAlone ? html`The answer was lost` : html`of ${count(n)} the answer was lost`;
  const isOne = n === 1;
  const subject = isAlone ? (isOne ? 'It' : 'They') : count(n);
  const is = (single: string, more: string) => `${subject} ${isOne ? single : more}`;
  return fateWords[fate]({ context, decided, isOne, is });
}

export function partsOf(
  context: PageContext,
  decided: FollowedDecision,
  among: readonly Fate[] = fates,
): Html {
  const all = among.flatMap((fate) => {
    const n = decided.fates[fate] ?? 0;
    return n === 0 ? [] : [partOf(context, decided, fate, n)];
  });
  const first = decided.isMore && among === fates ? `Among the first ${count(decided.rows)}: ` : '';
  return html`${all.map((part, i) => html`${i === 0 ? first : '; '}${part}`)}`;
}

/** Whether some of it has left, and some has not. */
export const isUnderWay = ({ fates: of }: FollowedDecision): boolean =>
  of.leaving !== undefined || (of.sent !== undefined && of.coming !== undefined);

/** `request 2 of 3`, as far as the numbers of users tell. */
function requestWords({ users }: FollowedDecision): string {
  const [sent, leaving] = [users.sent ?? 0, users.leaving ?? 0];
  const requestsFor = (n: number) => Math.ceil(n / perRequest);
  const all = requestsFor(sent + leaving + (users.coming ?? 0));
  const [first, last] = [Math.floor(sent / perRequest) + 1, requestsFor(sent + leaving)];
  return first >= last
    ? `request ${count(last)} of ${count(all)} is on its way`
    : `requests ${count(first)} to ${count(last)} of ${count(all)} are on their way`;
}

/** For a decision of which something has not left: what has to happen, and by when. */
function onItsWay(
  context: PageContext,
  decided: FollowedDecision,
  { listens, nextRun }: Sending,
): Html | null {
  const { fates: fateCounts, rows, at: decidedAt, teamId } = decided;
  const { sent = 0, leaving = 0, coming = 0 } = fateCounts;
  const [it, goes] = rows === 1 ? ['it', 'It goes'] : ['them', 'They go'];
  if (isUnderWay(decided)) {
    const then =
      leaving > 0
        ? requestWords(decided)
        : `${count(coming)} ${coming === 1 ? 'goes' : 'go'} with the next run`;
    const others = fates.filter((fate) => fate !== 'sent' && fate !== 'leaving' && fate !== 'coming');
    const rest = rows === sent + leaving + coming ? none : html`; ${partsOf(context, decided, others)}`;
    return html`${count(sent)} of ${count(rows)} ${sent === 1 ? 'is' : 'are'} sent,${inRuns(context, decided)}; ${then}${rest}.`;
  }
  if (coming !== rows) return null;
  if (!listens) {
    const { team } = teamOf(context, teamId);
    return html`No daemon runs, so nothing is sent before somebody begins one, or: <code>${commandOf(context, team, 'reconcile')}</code>`;
  }
  if (context.now.getTime() - decidedAt.getTime() < minuteMs) return html`The daemon begins with ${it} now.`;
  return html`${goes} with the next run${nextRun === null ? none : html`, at ${at(nextRun, context.now)}`}.`;
}

/** The answers to the next questions: whether anything was sent, and when the next run looks. */
function afterParts(context: PageContext, { fates }: FollowedDecision, { nextRun }: Sending): Html {
  const run = nextRun === null ? none : html`, at ${at(nextRun, context.now)},`;
  const [they, them] = fates.asked === 1 ? ['it', 'it'] : ['they', 'them'];
  const look =
    fates.asked === undefined
      ? none
      : html` The next run${run} looks whether ${they} arrived, and sends ${them} again only if not.`;
  const unsent = fates.kept !== undefined ? ' Nothing was sent.' : '';
  return html`${look}${unsent}`;
}

export function statusOf(context: PageContext, decided: FollowedDecision, sending: Sending): Html {
  const ahead = onItsWay(context, decided, sending);
  return ahead ?? html`${partsOf(context, decided)}.${afterParts(context, decided, sending)}`;
}

/** Words about tags, messages and read conversations that people ask for in SQL. */
import { showTime } from '../model/field-values.ts';
import { plural, printable } from '../model/in-words.ts';
import type { RequestMove, ShownRequest, WrittenRequests } from '../runs/write-requests.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { inMarkdown, printField, printJson, printLine } from './output.ts';
import { type PrintedColumns, printRows } from './print-table.ts';
import { codeOfSettled } from './show-settled.ts';

const kinds = { tag: 'tag', message: 'message', conversation_read: 'conversation' } as const;

/** The kind of a request: what a run would do about it, or else what it is. */
function whatOf({ field, id, state, cancels }: ShownRequest): string {
  if (field !== 'message' || (state !== 'waiting' && state !== 'held')) return kinds[field];
  return cancels ? 'cancel' : id === null ? 'create' : 'replace';
}

const dueOf = ({ local_time, timezone }: ShownRequest) =>
  local_time === null ? '' : `${local_time} ${timezone}`;

function targetOf({ target_kind, target, recipients }: ShownRequest): string {
  if (target === null) return '';
  if (target_kind !== 'numbers') return `${target_kind} ${target}`;
  return recipients !== null && recipients > 3n ? `${recipients} numbers` : target;
}

const becauseOf = ({ reason, detail, needs_approval }: ShownRequest) =>
  [reason, detail, needs_approval ? 'a run holds it until somebody approves it' : '']
    .filter(Boolean)
    .join(': ');

const columns: PrintedColumns<ShownRequest> = {
  what: whatOf,
  local_id: ({ local_id }) => local_id,
  state: ({ state }) => state,
  at: dueOf,
  inbox: ({ inbox, inbox_id }) => inbox ?? inbox_id,
  sender: ({ sender, user_id }) => sender ?? user_id,
  to: targetOf,
  text: ({ text, template_id }) => text ?? (template_id === null ? '' : `template ${template_id}`),
  because: becauseOf,
};

const moveColumns: PrintedColumns<RequestMove> = {
  when: ({ opened_at }) => showTime(opened_at),
  kind: ({ kind }) => kind,
  outcome: ({ outcome }) => outcome,
  by: ({ decided_by }) => decided_by,
  why: ({ decided_why }) => decided_why,
  run: ({ run_id }) => run_id,
  request: ({ request_id }) => request_id,
};

/** Only a person can find out what became of a message. A conversation that got no answer is over. */
const isUnknown = ({ field, state }: ShownRequest) => field === 'message' && state === 'unknown';

/** A person has to decide about it, or to find out what became of it. */
export const needsPerson = (request: ShownRequest): boolean => {
  const { state, reason, needs_approval } = request;
  const isHeld = state === 'held' && reason !== 'rejected' && reason !== 'asked';
  return isHeld || needs_approval || isUnknown(request);
};

/** Says what a person has to do now. Several requests can wait for the same thing. */
function taskOf(request: ShownRequest): string | null {
  const { field, state, batch, local_id } = request;
  if (isUnknown(request))
    return `Nobody knows whether the service has ${local_id}: look there, then musterd schedule resolve ${local_id} --is <id>, or --was-not-sent`;
  if (state !== 'held' || batch === null) return null;
  const who = field === 'message' ? 'somebody who did not write it' : 'an approval';
  return `Waits for ${who}: musterd approve ${batch} --reason …`;
}

function nextOf(request: ShownRequest): string {
  const task = taskOf(request);
  if (task !== null) return task;
  switch (request.state) {
    case 'waiting':
      return `The next run ${request.needs_approval ? 'holds it until somebody else approves it' : 'sends it'}: a daemon does so in a moment, else "musterd reconcile".`;
    case 'held':
      return 'It stays as it is until it is edited or taken back.';
    case 'refused':
      return 'Nothing: the service does not take it like this.';
    case 'scheduled':
      return `The service sends it at ${dueOf(request)}.`;
    case 'unknown':
      return 'Nothing: no answer came, and it is not sent again.';
    default:
      return 'Nothing: it is over.';
  }
}

export function printRequests(
  context: Pick<Context, 'out' | 'env'>,
  requests: readonly ShownRequest[],
): void {
  if (requests.length === 0) return;
  printRows(context, columns, requests);
  for (const line of new Set(requests.flatMap((request) => taskOf(request) ?? [])))
    printLine(context.out, line);
}

export function printRequestsInMarkdown({ out }: Context, requests: readonly ShownRequest[]): void {
  if (requests.length === 0) return;
  printLine(out, `\n## ${plural(requests.length, 'request')} besides users\n`);
  for (const request of requests) {
    const cells = Object.entries(columns).flatMap(([what, cellOf]) => {
      const cell = cellOf(request);
      return cell ? `${what} ${inMarkdown(String(cell))}` : [];
    });
    printLine(out, `- ${cells.join(', ')}`);
  }
}

/** Shows what was written and what becomes of it. @returns 3 if it is known that a person has to decide */
export function showWritten(context: Context, { requests, states }: WrittenRequests): ExitCode {
  if (context.json) printJson(context, { requests });
  else if (requests.length === 0)
    // The row of a new tag goes if an earlier request has made the tag.
    printLine(context.err, 'It is there already: an earlier request has made it.');
  else {
    printRows(context, columns, requests);
    for (const line of new Set(requests.map(nextOf))) printLine(context.err, printable(line));
  }
  return states === null ? exitCode.ok : codeOfSettled(states);
}

export function showList(context: Context, requests: readonly ShownRequest[]): ExitCode {
  if (context.json) printJson(context, { requests });
  else if (requests.length === 0) printLine(context.err, 'There is none.');
  else printRequests(context, requests);
  return exitCode.ok;
}

/** Everything that is known of one request, and what happens next. */
export function showRequest(
  context: Context,
  { request, moves }: { readonly request: ShownRequest; readonly moves: readonly RequestMove[] },
): ExitCode {
  if (context.json) {
    printJson(context, { ...request, next: nextOf(request), moves });
    return exitCode.ok;
  }
  const line = (what: string, value: string | bigint | null) => {
    if (value !== null && value !== '') printField(context, what, String(value));
  };
  const by = (when: Date | null, who: string | null) =>
    when === null ? '' : `${showTime(when)} by ${who ?? 'nobody knows'}`;
  const named = (id: bigint | null, name: string | null) => (id === null ? '' : `${id} ${name ?? ''}`.trim());
  const count = request.recipients === null ? '' : ` (${plural(Number(request.recipients), 'recipient')})`;
  line(whatOf(request), request.local_id);
  line('service has it as', request.id);
  line('state', [request.state, becauseOf(request)].filter(Boolean).join(', '));
  line('due', dueOf(request));
  line('inbox', named(request.inbox_id, request.inbox));
  line('sender', named(request.user_id, request.sender));
  line('to', request.target === null ? '' : `${request.target_kind} ${request.target}${count}`);
  line('template', request.template_id);
  line('text', request.text);
  line('edited', by(request.edited_at, request.edited_by));
  line('approved', by(request.approved_at, request.approved_by));
  if (moves.length > 0) printRows(context, moveColumns, moves);
  line('next', nextOf(request));
  return exitCode.ok;
}

/** Decisions about scheduled messages, one at a time, in the name of the person who logged in. */
import { MusterdError } from '../../errors.ts';
import { type PageMessage, readMessages } from '../read/page-messages.ts';
import type { PageFrame } from '../read/page-reader.ts';
import { messageKey, type MessageVerb, messageVerbs } from '../render/message-cards.ts';
import { mayDecideMessages, termsOf } from '../render/message-parts.ts';
import { messagesFilter } from '../render/message-line.ts';
import { messageQuestion } from '../render/message-question.ts';
import { messages } from '../render/messages.ts';
import type { PageContext, PageShown } from '../render/view.ts';
import { approve, reject } from '../../runs/approve-batch.ts';
import { resolveMessage, writeRequests } from '../../runs/write-requests.ts';
import { only, readReason, readNumber, requireReadable } from './decision-form.ts';
import { doneAt, type FormHandler, setupOf } from './deciding.ts';

export const messagesPattern = '/messages';

const moved = 'It was edited or decided about while you looked. Look at it and press again.';

function readVerb(form: URLSearchParams): MessageVerb {
  const verb = messageVerbs.find((one) => one === only(form, 'verb'));
  if (verb === undefined)
    throw new MusterdError('usage', 'The form cannot be read: it does not say what is to be done');
  return verb;
}

const readView = async ({ reader }: Pick<PageFrame, 'reader'>) =>
  await readMessages(reader, messagesFilter({ query: new URLSearchParams(), isCsv: false }));

/** Messages of unknown outcome are resolved by these verbs; the others wait for a decision. */
const isMeant = ({ state }: PageMessage, verb: MessageVerb): boolean =>
  (state === 'unknown') === (verb === 'There' || verb === 'Not there');

async function viewAgain(frame: PageFrame, context: PageContext, refusal: string): Promise<PageShown> {
  const view = { ...context, query: new URLSearchParams(), path: messagesPattern };
  return { ...messages(await readView(frame), view, refusal), status: 409 };
}

const prepare: FormHandler['prepare'] = async (options, posted, frame, context) => {
  const { form } = posted;
  requireReadable(form);
  const verb = readVerb(form);
  const read = await readView(frame);
  const message = read.open.find((one) => messageKey(one) === form.get('row'));
  if (message === undefined || !isMeant(message, verb)) return await viewAgain(frame, context, moved);
  const terms = termsOf(context, message.team_id);
  if (!mayDecideMessages(context, terms))
    throw new MusterdError('usage', 'This page does not know who decides', {
      hint: 'With status.user it does; the command says so with --as.',
    });
  if (form.get('confirmed') === null)
    return messageQuestion(
      { context, message, terms, isOwn: read.own.has(message.local_id), ofDay: null },
      verb,
      read,
    );
  const why = readReason(form);
  const actor = context.decide?.actor;
  const { setup, leased } = setupOf(options, posted);
  if (verb === 'There' || verb === 'Not there') {
    const is = verb === 'There' ? readNumber(only(form, 'is')) : null;
    if (is === undefined) throw new MusterdError('usage', 'Its number is a whole number');
    return async () => {
      const by = { actor, waitMs: undefined, signal: new AbortController().signal };
      await writeRequests(setup, by, async (tx, teamId) => [
        await resolveMessage(tx, teamId, message.local_id, { id: is, why }),
      ]);
      return `${messagesPattern}?note=${is === null ? 'not-there' : 'there'}`;
    };
  }
  const { batch, editId } = message;
  if (batch === null || editId === null) return await viewAgain(frame, context, moved);
  const choice = { batch, only: null, edits: [editId], rows: null, why, actor };
  return async () => {
    const decided =
      verb === 'Approve'
        ? await approve(setup, leased, choice)
        : await reject(setup, leased, { ...choice, revert: verb === 'Withdraw' });
    return doneAt(decided.decision, messagesPattern);
  };
};

/** Decides about messages, each with its own question. */
export const decidingMessages: FormHandler = {
  tab: 'Messages',
  prepare,
  refusedAfterAll: async (_, frame, context, why) => await viewAgain(frame, context, why),
};

import { MusterdError } from '../errors.ts';
import { insertRequest, listRequests, requireInbox } from '../runs/write-requests.ts';
import type { Context } from './context.ts';
import { userOf, write } from './schedule-commands.ts';
import { withMirror } from './setup.ts';
import { showList } from './show-requests.ts';

interface ReadOptions {
  readonly inbox?: string;
  readonly user?: string;
  readonly target?: string;
  readonly targets?: readonly string[];
  readonly reassign?: string;
  readonly as?: string;
  readonly wait?: string | boolean;
}

/** Asks for conversations to be marked as read. */
export const conversationsRead = (context: Context, options: ReadOptions) =>
  write(context, options, async (setup) => {
    const { inbox, user, target, targets, reassign } = options;
    if (inbox === undefined || user === undefined)
      throw new MusterdError('usage', 'Say which inbox and who has read it: --inbox and --user');
    const values = {
      inbox_id: await requireInbox(setup, inbox),
      user_id: await userOf(setup, user),
      target,
      targets,
      reassign_id: reassign === undefined ? undefined : await userOf(setup, reassign),
    };
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
    return async (tx, teamId) => [await insertRequest(tx, 'mirror.conversation_reads', teamId, given)];
  });

export const conversationsList = (context: Context) =>
  withMirror(context, async (setup) =>
    showList(context, await listRequests(setup, 'conversation_read', 'all')),
  );

import { MusterdError } from '../../errors.ts';
import { requireNamedInbox, requireNamedMember, requireNamedUser } from '../../runs/call/named-on-service.ts';
import { encodeRead } from '../../service/messages/schedule-request.ts';
import type { Context, ExitCode } from '../context.ts';
import { type SendingOptions, sendConfirmed, withCaller } from './direct-send.ts';
import { readEntries } from './message-options.ts';

interface ReadOptions extends SendingOptions {
  readonly inbox?: string;
  readonly user?: string;
  readonly target?: readonly string[];
  readonly reassign?: string;
}

export const conversationsRead = (context: Context, options: ReadOptions): Promise<ExitCode> =>
  withCaller(context, options, async (caller) => {
    const { service, team } = caller;
    const { target, reassign } = options;
    if (options.inbox === undefined || options.user === undefined)
      throw new MusterdError('usage', 'Name the inbox and the user who has read it: --inbox and --user');
    if (target === undefined)
      throw new MusterdError('usage', 'Name the partner of the conversation: --target', {
        hint: 'For example --target 14155550123.',
      });
    const targets = readEntries('target', target);
    const inbox = await requireNamedInbox(service, options.inbox);
    const user = await requireNamedMember(service, team, options.user, inbox);
    const assignee = reassign === undefined ? undefined : await requireNamedUser(service, team, reassign);
    const request = {
      inboxId: inbox.id,
      userId: user.id,
      ...(targets.length > 1 ? { targets } : { target: targets[0] ?? '' }),
      ...(assignee === undefined ? {} : { reassignId: assignee.id }),
    };
    return sendConfirmed(context, options, caller, {
      operation: 'POST /v1/conversations/read',
      subject: 'conversation_read',
      body: encodeRead(request),
      notes: { inbox_id: inbox.name, user_id: user.name, reassign_id: assignee?.name ?? '' },
      send: (how) => service.readConversation(request, how),
      words: 'Marked as read',
    });
  });

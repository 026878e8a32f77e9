import { conversationAnswer } from '../wire/answer-schemas.ts';
import { bodyEndpoint, type Endpoint, ok, refused } from '../wire/endpoint.ts';
import { conversationRead } from '../wire/request-schemas.ts';

export const conversationEndpoints: readonly Endpoint[] = [
  bodyEndpoint(
    {
      method: 'POST',
      path: '/v1/conversations/read',
      summary: 'Marks a conversation as read.',
      request: conversationRead,
      response: conversationAnswer,
      writes: true,
    },
    ({ team }, body) => {
      if (!team.inboxes.has(body.inbox_id)) return refused(`no inbox ${body.inbox_id}`);
      if (!team.users.has(body.user_id)) return refused(`no user ${body.user_id}`);
      team.conversationsRead.push(body);
      team.version += 1;
      return ok('ok');
    },
  ),
];

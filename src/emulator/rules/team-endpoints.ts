import { inbox, team } from '../wire/answer-schemas.ts';
import { encodeInbox, encodeTeam } from '../wire/encode.ts';
import { type Endpoint, ok, plainEndpoint } from '../wire/endpoint.ts';

export const teamEndpoints: readonly Endpoint[] = [
  plainEndpoint(
    {
      method: 'GET',
      path: '/v1/inboxes',
      summary: "The team's inboxes; the recommended low-risk credential check.",
      response: inbox.array(),
      label: 'bad_data',
    },
    (call) =>
      ok(
        [...call.team.inboxes.values()]
          .filter((row) => call.shown(row.id))
          .map((row) => encodeInbox(row, call.team.id, call.variants)),
      ),
  ),
  plainEndpoint(
    { method: 'GET', path: '/v1/team', summary: 'The team and its members.', response: team },
    (call) => {
      const members = [...call.team.users.values()].filter((user) => user.listed && call.shown(user.id));
      return ok(encodeTeam(call.team, members, call.variants));
    },
  ),
];

import { memberships } from '../wire/answer-schemas.ts';
import { encodeUser } from '../wire/encode.ts';
import {
  type EndpointAnswer,
  bodyEndpoint,
  type EndpointCall,
  type Endpoint,
  ok,
  refused,
} from '../wire/endpoint.ts';
import { type UserFilterBody, type UserUpdate, userFilter, userUpdates } from '../wire/request-schemas.ts';
import { emailKey, type UserRecord } from './played-team.ts';
import { editOf, writeUser } from './update-user.ts';

export const userEndpoints: readonly Endpoint[] = [
  bodyEndpoint(
    {
      method: 'GET',
      path: '/v1/users/get',
      summary: "The team's users that match the given phones or emails (legacy: a JSON body on a GET).",
      request: userFilter,
      response: memberships,
    },
    getUsers,
  ),
  bodyEndpoint(
    {
      method: 'POST',
      path: '/v1/users/update',
      summary: 'Updates users; answers with the updated users.',
      request: userUpdates,
      writes: true,
      response: memberships,
    },
    (call, body) => updateUsers(call, body.users),
  ),
];

function getUsers(call: EndpointCall, filter: UserFilterBody): EndpointAnswer {
  const { team, variants } = call;
  const emails = filter.email ?? [];
  const phones = filter.phone ?? [];
  if (emails.length + phones.length === 0) return getUnfilteredUsers(call);
  const found = new Set<number>();
  for (const email of emails.filter((given) => given !== null)) {
    for (const id of team.usersByEmail.get(emailKey(email)) ?? []) {
      if (variants['email-lookup'] === 'any-case' || team.users.get(id)?.email === email) found.add(id);
    }
  }
  for (const phone of phones.filter((given) => given !== null)) {
    for (const id of team.usersByPhone.get(phone) ?? []) found.add(id);
  }
  return answerUsers(
    call,
    [...found].sort((a, b) => a - b).map((id) => team.users.get(id)),
  );
}

function getUnfilteredUsers(call: EndpointCall): EndpointAnswer {
  const played = call.variants['unfiltered-users'];
  if (played === 'refuse') return refused('a filter is needed');
  if (played === 'none') return answerUsers(call, []);
  const all = [...call.team.users.values()].filter((user) => user.answered);
  return answerUsers(call, played === 'all' ? all : all.slice(0, played));
}

function answerUsers(call: EndpointCall, users: readonly (UserRecord | undefined)[]): EndpointAnswer {
  const { team, variants, shown } = call;
  const answered = users.filter((user) => user?.answered === true && shown(user.id));
  return ok({
    memberships: answered.map((user) => (user === undefined ? {} : encodeUser(user, team.id, variants))),
  });
}

function updateUsers(call: EndpointCall, updates: readonly UserUpdate[]): EndpointAnswer {
  const { team, variants } = call;
  const edits = updates.map((update) => ({ id: update.id, ...checkUpdate(update, call) }));
  const bad = edits.findIndex((edit) => 'refused' in edit);
  const writable = bad === -1 ? edits : variants['refused-update'] === 'prefix' ? edits.slice(0, bad) : [];
  const written = new Set<number>();
  for (const edit of writable) {
    const user = team.users.get(edit.id);
    if (user === undefined || !('edit' in edit)) continue;
    writeUser(team, user, edit.edit, call.clock, variants['updated-at'] === 'moves');
    written.add(edit.id);
  }
  const problem = edits[bad];
  if (problem !== undefined && 'refused' in problem) return refused(problem.refused);
  const users = [...written].flatMap((id) => team.users.get(id) ?? []);
  return ok({ memberships: users.map((user) => encodeUser(user, team.id, variants)) });
}

function checkUpdate(
  update: UserUpdate,
  call: EndpointCall,
): ReturnType<typeof editOf> | { readonly skipped: true } {
  if (call.team.users.has(update.id)) return editOf(update, call.team, call.variants);
  return call.variants['unknown-user'] === 'skip' ? { skipped: true } : { refused: `no user ${update.id}` };
}

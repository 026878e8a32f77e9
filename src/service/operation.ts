/** The sixteen endpoints of interface.md, Endpoints, and whether a call of each may be repeated. */

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** `read` may be repeated, also with the method POST. `write` is repeated only if it certainly had no effect. */
export type Effect = 'read' | 'write';

export interface Operation {
  readonly method: Method;
  /** As the interface spells it, with `{id}` in place of an id. */
  readonly path: string;
  readonly effect: Effect;
  /** Longest answer in bytes; if absent, `http.maxResponseBytes` applies. */
  readonly maxAnswerBytes?: number;
}

/** A count, an `ok`, the result of a write. */
const word = { maxAnswerBytes: 65_536 };
/** One row, or the up to 25 users of an update. */
const row = { maxAnswerBytes: 1_048_576 };
/** A page of rows. */
const page = { maxAnswerBytes: 8_388_608 };

export const operations = {
  inboxes: { method: 'GET', path: '/v1/inboxes', effect: 'read', ...page },
  users: { method: 'GET', path: '/v1/users/get', effect: 'read' },
  updateUsers: { method: 'POST', path: '/v1/users/update', effect: 'write', ...row },
  team: { method: 'GET', path: '/v1/team', effect: 'read' },
  contactFields: { method: 'POST', path: '/v1/contact-fields', effect: 'read', ...page },
  tags: { method: 'POST', path: '/v1/tags', effect: 'read', ...page },
  contactCount: { method: 'POST', path: '/v1/contacts/count', effect: 'read', ...word },
  surveys: { method: 'POST', path: '/v1/surveys', effect: 'read', ...page },
  survey: { method: 'GET', path: '/v1/survey/{id}', effect: 'read', ...row },
  createTag: { method: 'POST', path: '/v1/tag', effect: 'write', ...word },
  tag: { method: 'GET', path: '/v1/tag/{id}', effect: 'read', ...row },
  readConversation: { method: 'POST', path: '/v1/conversations/read', effect: 'write', ...word },
  createSchedule: { method: 'POST', path: '/v1/schedule', effect: 'write', ...word },
  schedule: { method: 'GET', path: '/v1/schedule/{id}', effect: 'read', ...row },
  replaceSchedule: { method: 'PUT', path: '/v1/schedule/{id}', effect: 'write', ...word },
  cancelSchedule: { method: 'DELETE', path: '/v1/schedule/{id}', effect: 'write', ...word },
} as const satisfies Record<string, Operation>;

/** The name of an operation in errors and events, for example `POST /v1/tags`. */
export function nameOperation(operation: Operation): string {
  return `${operation.method} ${operation.path}`;
}

/** The known operation of a path, or a made-up one. An unknown operation counts as a write, unless it is a GET. */
export function findOperation(method: Method, path: string): Operation {
  const bare = path.replace(/[?#].*$/s, '');
  const listed = Object.values(operations).find(
    (operation) => operation.method === method && matches(operation.path, bare),
  );
  return listed ?? { method, path: bare, effect: method === 'GET' ? 'read' : 'write' };
}

function matches(pattern: string, path: string): boolean {
  if (!pattern.endsWith('/{id}')) return pattern === path;
  const prefix = pattern.slice(0, -'{id}'.length);
  return path.startsWith(prefix) && /^\d+$/.test(path.slice(prefix.length));
}

/** The sixteen endpoints of interface.md, Endpoints, and what a call of each can do to the service. */

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * `read`: may be sent again at will, also where the method is POST. `write`: sent again only when it is
 * certain that it had no effect.
 */
export type Effect = 'read' | 'write';

export interface Operation {
  readonly method: Method;
  /** As the interface spells it, with `{id}` in place of an id. */
  readonly path: string;
  readonly effect: Effect;
}

export const operations = {
  inboxes: { method: 'GET', path: '/v1/inboxes', effect: 'read' },
  users: { method: 'GET', path: '/v1/users/get', effect: 'read' },
  updateUsers: { method: 'POST', path: '/v1/users/update', effect: 'write' },
  team: { method: 'GET', path: '/v1/team', effect: 'read' },
  contactFields: { method: 'POST', path: '/v1/contact-fields', effect: 'read' },
  tags: { method: 'POST', path: '/v1/tags', effect: 'read' },
  contactCount: { method: 'POST', path: '/v1/contacts/count', effect: 'read' },
  surveys: { method: 'POST', path: '/v1/surveys', effect: 'read' },
  survey: { method: 'GET', path: '/v1/survey/{id}', effect: 'read' },
  createTag: { method: 'POST', path: '/v1/tag', effect: 'write' },
  tag: { method: 'GET', path: '/v1/tag/{id}', effect: 'read' },
  readConversation: { method: 'POST', path: '/v1/conversations/read', effect: 'write' },
  createSchedule: { method: 'POST', path: '/v1/schedule', effect: 'write' },
  schedule: { method: 'GET', path: '/v1/schedule/{id}', effect: 'read' },
  replaceSchedule: { method: 'PUT', path: '/v1/schedule/{id}', effect: 'write' },
  cancelSchedule: { method: 'DELETE', path: '/v1/schedule/{id}', effect: 'write' },
} as const satisfies Record<string, Operation>;

/** Such as `POST /v1/tags`: what errors and events call an operation. */
export function nameOperation(operation: Operation): string {
  return `${operation.method} ${operation.path}`;
}

/** The known operation that a path belongs to, or one of our own: what is not known is taken as a write. */
export function findOperation(method: Method, path: string): Operation {
  const bare = path.replace(/[?#].*$/s, '');
  const known = Object.values(operations).find(
    (operation) => operation.method === method && matches(operation.path, bare),
  );
  return known ?? { method, path: bare, effect: method === 'GET' ? 'read' : 'write' };
}

function matches(pattern: string, path: string): boolean {
  if (!pattern.endsWith('/{id}')) return pattern === path;
  const prefix = pattern.slice(0, -'{id}'.length);
  return path.startsWith(prefix) && /^\d+$/.test(path.slice(prefix.length));
}

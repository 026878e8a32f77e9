/**
 * The endpoints of interface.md, Endpoints, and the rule for repeating a call of each. The endpoints that list a resource,
 * or read one of its rows, are in the description of the resource (`src/model/listed`).
 */
import { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import type { ListedResource } from '../model/listed-resource.ts';
import { listedResources } from '../model/listed-resources.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A `read` can always be repeated, even over POST. A `write` is repeated only if it certainly had no effect. */
export type Effect = 'read' | 'write';

export interface Operation {
  readonly method: Method;
  /** The path as in the interface, with `{id}` in place of an id. */
  readonly path: string;
  readonly effect: Effect;
  /** The longest answer in bytes; if absent, `maxResponseBytes` applies. */
  readonly maxAnswerBytes?: number;
}

/** The longest answer with a count, an `ok`, or the result of a write. */
const word = { maxAnswerBytes: 65_536 };
/** The longest answer with one row, or with the up to 25 users of an update. */
const row = { maxAnswerBytes: 1_048_576 };
/** The longest answer with a page of rows. */
const page = { maxAnswerBytes: 8_388_608 };

export const operations = {
  users: { method: 'GET', path: '/v1/users/get', effect: 'read' },
  updateUsers: { method: 'POST', path: '/v1/users/update', effect: 'write', ...row },
  team: { method: 'GET', path: '/v1/team', effect: 'read' },
  contactCount: { method: 'POST', path: '/v1/contacts/count', effect: 'read', ...word },
  createTag: { method: 'POST', path: '/v1/tag', effect: 'write', ...word },
  readConversation: { method: 'POST', path: '/v1/conversations/read', effect: 'write', ...word },
  createSchedule: { method: 'POST', path: '/v1/schedule', effect: 'write', ...word },
  schedule: { method: 'GET', path: '/v1/schedule/{id}', effect: 'read', ...row },
  replaceSchedule: { method: 'PUT', path: '/v1/schedule/{id}', effect: 'write', ...word },
  cancelSchedule: { method: 'DELETE', path: '/v1/schedule/{id}', effect: 'write', ...word },
} as const satisfies Record<string, Operation>;

export const listOperation = ({ list: { method, path } }: ListedResource): Operation => ({
  method,
  path,
  effect: 'read',
  ...page,
});

/** The operation that reads one row; `undefined` if the interface has no path for one row. */
export const rowOperation = ({ row: path }: ListedResource): Operation | undefined =>
  path === undefined ? undefined : { method: 'GET', path, effect: 'read', ...row };

export const listedOperations: readonly Operation[] = listedResources.flatMap((resource) => [
  listOperation(resource),
  ...[rowOperation(resource)].filter((operation) => operation !== undefined),
]);

/** The name of an operation in errors and events, for example `POST /v1/tags`. */
export function nameOperation(operation: Operation): string {
  return `${operation.method} ${operation.path}`;
}

/**
 * The path with an id filled in. A JavaScript caller can pass the id as a text.
 * @throws ServiceError `not-sent` if the id has other characters than digits, which could change the path
 */
export function pathWithId(operation: Operation, id: Id): string {
  if (/^\d+$/.test(String(id))) return operation.path.replace('{id}', String(id));
  const name = nameOperation(operation);
  throw new ServiceError(`${name} was not sent: an id must be digits only`, {
    operation: name,
    phase: 'not-sent',
  });
}

/** Finds the operation of a path. If the interface does not list it, a GET counts as a read, other methods as writes. */
export function findOperation(method: Method, path: string): Operation {
  const bare = path.replace(/[?#].*$/s, '');
  const listed = [...Object.values(operations), ...listedOperations].find(
    (operation) => operation.method === method && matches(operation.path, bare),
  );
  return listed ?? { method, path: bare, effect: method === 'GET' ? 'read' : 'write' };
}

function matches(pattern: string, path: string): boolean {
  if (!pattern.endsWith('/{id}')) return pattern === path;
  const prefix = pattern.slice(0, -'{id}'.length);
  return path.startsWith(prefix) && /^\d+$/.test(path.slice(prefix.length));
}

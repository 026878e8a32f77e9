import { encodeUser } from '../wire/encode.ts';
import type { EndpointAnswer, EndpointCall, Endpoint } from '../wire/endpoint.ts';
import { faultOf } from './fault-box.ts';
import { type Fault, parameter } from './faults.ts';
import { seedOf } from '../random.ts';
import type { UserUpdate } from '../wire/request-schemas.ts';
import type { PlayedTeam } from '../rules/played-team.ts';
import { z } from 'zod';

/** The endpoint call, changed by the faults. `stranger` returns another team, for the fault `wrong-team`. */
export function alterCall(
  faults: readonly Fault[],
  call: EndpointCall,
  stranger: () => PlayedTeam,
): EndpointCall {
  const team = faultOf(faults, 'wrong-team') === undefined ? call.team : stranger();
  const shrink = faultOf(faults, 'shrink');
  if (faultOf(faults, 'empty') !== undefined) return { ...call, team, shown: () => false };
  if (shrink === undefined) return { ...call, team };
  const keep = parameter(shrink, 'keep');
  return { ...call, team, shown: (id) => seedOf(`shrink ${id}`) % 100 < keep };
}

/** The request body with only the updates that `partial-apply` carries out; unchanged without this fault. */
export function alterBody(faults: readonly Fault[], endpoint: Endpoint, body: unknown): unknown {
  const partial = faultOf(faults, 'partial-apply');
  const updates = updatesOf(endpoint, body);
  if (partial === undefined || updates === undefined) return body;
  const skip = parameter(partial, 'skip');
  const skipped = skip === 'name' ? ['first_name', 'last_name'] : [skip];
  const kept = updates.slice(0, Math.ceil((updates.length * parameter(partial, 'keep')) / 100));
  return {
    users: kept.map((update) =>
      Object.fromEntries(Object.entries(update).filter(([key]) => !skipped.includes(key))),
    ),
  };
}

/** The answer, changed by the faults. `body` is the body of the request. */
export function alterAnswer(
  faults: readonly Fault[],
  endpoint: Endpoint,
  call: EndpointCall,
  body: unknown,
  answer: EndpointAnswer,
): EndpointAnswer {
  if (answer.status !== 200) return answer;
  let altered = answer.body;
  const partial = faultOf(faults, 'partial-answer');
  const updates = updatesOf(endpoint, body);
  if (updates !== undefined && faultOf(faults, 'partial-apply') !== undefined) {
    const users = updates.flatMap((update) => call.team.users.get(update.id) ?? []);
    altered = { memberships: users.map((user) => encodeUser(user, call.team.id, call.variants)) };
  }
  if (partial !== undefined && endpoint.writes) altered = cutAnswer(altered, parameter(partial, 'keep'));
  if (faultOf(faults, 'empty') !== undefined) altered = changeLists(altered, () => []);
  if (faultOf(faults, 'reorder') !== undefined) altered = changeLists(altered, (rows) => rows.toReversed());
  if (faultOf(faults, 'repeat') !== undefined)
    altered = changeLists(altered, (rows) => rows.flatMap((row) => [row, row]));
  return { ...answer, body: altered };
}

function updatesOf(endpoint: Endpoint, body: unknown): readonly UserUpdate[] | undefined {
  if (endpoint.path !== '/v1/users/update') return undefined;
  const checked = endpoint.request?.safeParse(body);
  return checked?.success === true
    ? (checked.data as { readonly users: readonly UserUpdate[] }).users
    : undefined;
}

/** Keeps the first `keep` percent of a write's answer: of its `memberships`, or else of its keys or letters. */
function cutAnswer(body: unknown, keep: number): unknown {
  const share = (length: number): number => Math.floor((length * keep) / 100);
  const cut = <P>(parts: readonly P[]): P[] => parts.slice(0, share(parts.length));
  if (typeof body === 'string') return body.slice(0, share(body.length));
  if (typeof body !== 'object' || body === null) return body;
  return 'memberships' in body ? changeLists(body, cut) : Object.fromEntries(cut(Object.entries(body)));
}

/** Applies `change` to the body if it is a list, or else to its `memberships` and `members`. */
function changeLists(body: unknown, change: (rows: readonly unknown[]) => readonly unknown[]): unknown {
  if (Array.isArray(body)) return change(body);
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [
      key,
      Array.isArray(value) && (key === 'memberships' || key === 'members') ? change(value) : value,
    ]),
  );
}

/** Replaces `[]` with `{}`, at any depth, if the schema documents an object at this place. */
export function withEmptyObjects(documented: unknown, value: unknown): unknown {
  if (documented instanceof z.ZodOptional || documented instanceof z.ZodNullable)
    return withEmptyObjects(documented.unwrap(), value);
  const isObject = documented instanceof z.ZodObject;
  if ((isObject || documented instanceof z.ZodRecord) && Array.isArray(value) && value.length === 0)
    return {};
  if (documented instanceof z.ZodArray && Array.isArray(value))
    return value.map((element) => withEmptyObjects(documented.element, element));
  if (!isObject || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { shape } = documented;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withEmptyObjects(shape[key], inner)]),
  );
}

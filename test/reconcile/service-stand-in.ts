/** The service port over a map of users: the port is declared by `reconcile`, and these are its least contents. */
import type { UserFilter } from '../../src/model/service-request.ts';
import { ServiceError } from '../../src/errors.ts';
import { canonicalEmail, canonicalPhone } from '../../src/model/canonical.ts';
import type { Id } from '../../src/model/id.ts';
import type { RejectedRow } from '../../src/model/rejected-row.ts';
import { readable, type ServiceUser, type UserPatch } from '../../src/model/user.ts';
import type { ServicePort } from '../../src/reconcile/ports.ts';
import { takePatch } from './apply-plan.ts';

export type Patches = ReadonlyMap<Id, UserPatch>;

/** How far an update gets before it fails; `nothing`: it does not. */
export type Fault =
  | { readonly kind: 'nothing' }
  /** The answer is this status; `applied`: whose patches were taken nevertheless. */
  | { readonly kind: 'status'; readonly status: number; readonly applied?: readonly Id[] }
  /** No answer comes; `applied`: whether it had its effect. */
  | { readonly kind: 'lost'; readonly applied: boolean }
  | { readonly kind: 'not-sent' };

export interface ServiceStandIn extends ServicePort {
  users: ServicePort['users'];
  /** What the service holds. */
  readonly held: Map<Id, ServiceUser>;
  readonly filters: UserFilter[];
  readonly updates: Patches[];
  /** What a lookup without a filter answers: everybody, nobody, a 400, or so many. */
  unfiltered: 'all' | 'none' | 'refuse' | number;
  /** Whether an email is found in its own case alone. */
  exactEmails: boolean;
  refusesAddress: (address: string) => boolean;
  /** Whom lookups do not show. */
  hidden: ReadonlySet<Id>;
  rejected: readonly RejectedRow[];
  /** What becomes of an update; a patch that is refused refuses the whole request. */
  fault: (patches: Patches, request: number) => Fault;
  refusesPatch: (patch: UserPatch, id: Id) => boolean;
  /** What an update waits for in the client before it leaves, as for its place in the rate. */
  beforeDispatch: () => Promise<void>;
  /** What passes while its connection comes about. */
  beforeStart: () => void;
  /** What is stored of a patch. */
  take: (user: ServiceUser, patch: UserPatch) => ServiceUser;
  /** What the answer to an update shows of a user; `undefined`: nothing. */
  answer: (user: ServiceUser) => ServiceUser | undefined;
}

export function refusal(status: number): ServiceError {
  return new ServiceError(`answered ${status}`, {
    operation: 'POST /v1/users/update',
    phase: 'answered',
    status,
    label: 'error',
    requestId: `refused-${status}`,
  });
}

function lost(phase: 'sent' | 'not-sent'): ServiceError {
  return new ServiceError('no answer', { operation: 'POST /v1/users/update', phase });
}

const notAsked = () => Promise.reject(new Error('nobody asks for this here'));

function lookUp(service: ServiceStandIn, { emails, phones }: UserFilter): readonly ServiceUser[] {
  const all = [...service.held.values()].filter(({ id }) => !service.hidden.has(id));
  if (emails.length + phones.length === 0) {
    if (service.unfiltered === 'refuse') throw refusal(400);
    if (service.unfiltered === 'none') return [];
    return service.unfiltered === 'all' ? all : all.slice(0, service.unfiltered);
  }
  if ([...emails, ...phones].some((address) => service.refusesAddress(address))) throw refusal(400);
  const form = (email: string) => (service.exactEmails ? email : canonicalEmail(email));
  const wantedEmails = new Set(emails.map(form));
  const wantedPhones = new Set(phones);
  return all.filter((user) => {
    const [email, phone] = [readable(user.email), readable(user.phone)];
    return (email && wantedEmails.has(form(email))) || (phone && wantedPhones.has(canonicalPhone(phone)));
  });
}

function update(service: ServiceStandIn, patches: Patches): readonly ServiceUser[] {
  service.updates.push(patches);
  const store = (ids: readonly Id[]) => {
    for (const [id, patch] of patches) {
      const user = service.held.get(id);
      if (user !== undefined && ids.includes(id)) service.held.set(id, service.take(user, patch));
    }
  };
  const all = [...patches.keys()];
  const fault = service.fault(patches, service.updates.length);
  if (fault.kind === 'not-sent') throw lost('not-sent');
  if (fault.kind === 'lost') {
    if (fault.applied) store(all);
    throw lost('sent');
  }
  if (fault.kind === 'status') {
    store(fault.applied ?? []);
    throw refusal(fault.status);
  }
  if ([...patches].some(([id, patch]) => service.refusesPatch(patch, id))) throw refusal(400);
  store(all);
  return all.flatMap((id) => {
    const user = service.held.get(id);
    return (user && service.answer(user)) ?? [];
  });
}

/** The same service with another answer about its users. */
export const answeringBy = (service: ServiceStandIn, users: ServicePort['users']): ServiceStandIn => ({
  ...service,
  users,
});

export function createServiceStandIn(users: readonly ServiceUser[]): ServiceStandIn {
  const service: ServiceStandIn = {
    held: new Map(users.map((user) => [user.id, user])),
    filters: [],
    updates: [],
    unfiltered: 'all',
    exactEmails: false,
    refusesAddress: () => false,
    hidden: new Set(),
    rejected: [],
    fault: () => ({ kind: 'nothing' }),
    refusesPatch: () => false,
    take: takePatch,
    beforeDispatch: () => Promise.resolve(),
    beforeStart: () => undefined,
    answer: (user) => user,
    users: async (filter) => {
      service.filters.push(filter);
      const found = lookUp(service, filter);
      return await Promise.resolve({ users: found, rejected: service.rejected, requestId: null });
    },
    updateUsers: async (patches, options) => {
      await service.beforeDispatch();
      await options?.beforeSend?.();
      service.beforeStart();
      options?.atStart?.();
      const answered = update(service, patches);
      const requestId = `update-${service.updates.length}`;
      return await Promise.resolve({ users: answered, rejected: [], requestId });
    },
    list: notAsked,
    row: notAsked,
    contactCount: notAsked,
  };
  return service;
}

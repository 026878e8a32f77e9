import type { Fault, FaultKind, FaultOf } from './faults.ts';
import { type Hooked, install } from './hooks.ts';
import type { LoggedRequest } from '../wire/request-log.ts';

/** The active faults. `take` chooses the faults that apply to a request. */
export interface FaultBox {
  /** @returns a function that removes the fault */
  add(fault: Fault): () => void;
  clear(): void;
  /** All faults, in the order in which they were added. */
  installed(): readonly Fault[];
  /** Chooses the faults of a request. It must be called once per request, because it counts requests. */
  take(request: LoggedRequest): readonly Fault[];
}

export function createFaultBox(faults: readonly Fault[] = []): FaultBox {
  const installed = new Set<Hooked<Fault>>();
  const add = (fault: Fault) => install(installed, fault, fault);
  for (const fault of faults) add(fault);
  const faultsOf = (entries: Iterable<Hooked<Fault>>) => Array.from(entries, ({ act }) => act);
  return {
    add,
    clear: () => installed.clear(),
    installed: () => faultsOf(installed),
    // Every trigger is called, so that each trigger counts the request.
    take: (request) => faultsOf([...installed].filter(({ trigger }) => trigger(request))),
  };
}

/** The first fault of this kind among those that apply to a request. */
export function faultOf<K extends FaultKind>(faults: readonly Fault[], kind: K): FaultOf<K> | undefined {
  return faults.find((fault): fault is Extract<Fault, FaultOf<K>> => fault.kind === kind);
}

import type { Fault, FaultKind, FaultOf } from './faults.ts';
import { createTrigger, type Trigger } from './match.ts';
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
  const installed = new Set<{ readonly fault: Fault; readonly trigger: Trigger }>();
  function add(fault: Fault): () => void {
    const entry = { fault, trigger: createTrigger(fault) };
    installed.add(entry);
    return () => {
      installed.delete(entry);
    };
  }
  for (const fault of faults) add(fault);
  const faultsOf = (entries: Iterable<{ readonly fault: Fault }>) =>
    Array.from(entries, ({ fault }) => fault);
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

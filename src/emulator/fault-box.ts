import type { Fault, FaultKind, FaultOf } from './faults.ts';
import { createTrigger, type Trigger } from './match.ts';
import type { LoggedRequest } from './request-log.ts';

/** The faults that are set up, and which of them a request meets. */
export interface FaultBox {
  /** Returns what takes the fault away again. */
  add(fault: Fault): () => void;
  clear(): void;
  /** In the order in which they were added. */
  installed(): readonly Fault[];
  /** Asked once for each request, since it counts them. */
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
  return {
    add,
    clear: () => installed.clear(),
    installed: () => Array.from(installed, ({ fault }) => fault),
    // Every trigger is asked, so that each counts the request.
    take: (request) =>
      Array.from(installed, ({ fault, trigger }) => (trigger(request) ? [fault] : [])).flat(),
  };
}

/** The first fault of the kind among those that a request met. */
export function faultOf<K extends FaultKind>(faults: readonly Fault[], kind: K): FaultOf<K> | undefined {
  return faults.find((fault): fault is Extract<Fault, FaultOf<K>> => fault.kind === kind);
}

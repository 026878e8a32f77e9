import type { Fault, FaultKind, FaultOf } from './faults.ts';
import { createTrigger, type Trigger } from './match.ts';
import type { LoggedRequest } from './request-log.ts';

/** A fault, and on how many requests it was played. */
export interface NumberedFault {
  readonly number: number;
  readonly fault: Fault;
  readonly played: number;
}

/** The active faults. It chooses those that apply to a request. */
export interface FaultBox {
  /** @returns a function that removes the fault */
  add(fault: Fault): () => void;
  clear(): void;
  /** All faults, in the order in which they were added. */
  installed(): readonly NumberedFault[];
  /** Removes the fault of this number, if there still is one. */
  remove(number: number): void;
  /** Chooses the faults of a request. It must be called once per request, because it counts them. */
  take(request: LoggedRequest): readonly Fault[];
}

export function createFaultBox(faults: readonly Fault[] = []): FaultBox {
  const installed = new Map<number, { readonly fault: Fault; readonly trigger: Trigger; played: number }>();
  let added = 0;
  function add(fault: Fault): () => void {
    added += 1;
    const number = added;
    installed.set(number, { fault, trigger: createTrigger(fault), played: 0 });
    return () => {
      installed.delete(number);
    };
  }
  for (const fault of faults) add(fault);
  return {
    add,
    clear: () => installed.clear(),
    installed: () => Array.from(installed, ([number, { fault, played }]) => ({ number, fault, played })),
    remove: (number) => {
      installed.delete(number);
    },
    // It calls every trigger, so that each counts the request.
    take: (request) => {
      const taken = [...installed.values()].filter(({ trigger }) => trigger(request));
      for (const entry of taken) entry.played += 1;
      return taken.map(({ fault }) => fault);
    },
  };
}

/** The first fault of this kind among those that apply to a request. */
export function faultOf<K extends FaultKind>(faults: readonly Fault[], kind: K): FaultOf<K> | undefined {
  return faults.find((fault): fault is Extract<Fault, FaultOf<K>> => fault.kind === kind);
}

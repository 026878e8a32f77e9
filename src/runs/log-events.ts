/** Logs the events of a run and of the client: chosen values only. */
import type { Log } from '../log.ts';
import type { RunEvent } from '../reconcile/run-notes.ts';
import type { ServiceEvent } from '../service/event.ts';

export function logServiceEvent(log: Log, event: ServiceEvent): void {
  switch (event.kind) {
    case 'request':
      log.debug({ ...event, kind: undefined }, 'request');
      return;
    case 'retry':
      log.info({ ...event, kind: undefined }, 'retry');
      return;
    case 'throttled':
      log.warn({ ...event, kind: undefined }, 'the service answered 429: all calls wait');
      return;
    case 'warning':
      log.warn({ code: event.code }, event.message);
      return;
    default:
      event satisfies never;
  }
}

export function logRunEvent(log: Log, event: RunEvent): void {
  switch (event.kind) {
    case 'step':
      log.debug({ step: event.step }, 'step');
      return;
    case 'progress':
      return;
    case 'refused':
      log[event.refusal.isReview === true ? 'info' : 'warn'](
        { users: event.refusal.users, reasons: event.refusal.reasons },
        event.refusal.isReview === true ? 'edits wait for a person' : 'the guard stopped edits',
      );
      return;
    case 'partial':
      log.warn(event.reason);
      return;
    case 'warning':
      log.warn(event.text);
      return;
    case 'push':
      log.info(
        { users: event.users.map(String), requestId: event.requestId, windowMs: event.windowMs },
        'pushed',
      );
      return;
    default:
      event satisfies never;
  }
}

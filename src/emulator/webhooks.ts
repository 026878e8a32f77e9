import { randomUUID } from 'node:crypto';
import type { EmulatorClock } from './emulator-clock.ts';
import type { PlayedTeam } from './played-team.ts';
import { sendDueMessages } from './sent-messages.ts';

/**
 * An event as it is sent. The interface says that there are events, and shows neither their kinds nor their shapes.
 * These are the emulator's own, about whatever happens to messages and conversations here.
 */
export interface WebhookEvent {
  readonly id: string;
  readonly event: 'message.sent' | 'conversation.read';
  readonly team_id: number;
  /** ISO 8601, UTC. */
  readonly created: string;
  readonly data: unknown;
}

/** An event and what became of it. */
export interface SentWebhook {
  readonly event: WebhookEvent;
  /** The status of the answer, or why there was none. */
  readonly outcome: number | string;
}

export interface Webhooks {
  /** The events that were answered or have failed, the newest last. */
  readonly sent: readonly SentWebhook[];
  /** Begins to send. Events from before are not sent. */
  start(): void;
  /** Treats everything that the teams have by now as sent, as after a restore. */
  skip(): void;
  /** Sends nothing more. */
  close(): void;
}

const everyMs = 200;
const patienceMs = 5000;

/** Sends each event once, in order, and waits for its answer before the next; without a URL, nothing. */
export function createWebhooks(
  url: string | undefined,
  teams: readonly PlayedTeam[],
  clock: EmulatorClock,
): Webhooks {
  const sent: SentWebhook[] = [];
  const told = new Map<PlayedTeam, { deliveries: number; reads: number }>();
  const stopped = new AbortController();
  let last: Promise<void> = Promise.resolve();
  function skip(): void {
    for (const team of teams)
      told.set(team, { deliveries: team.deliveries.length, reads: team.conversationsRead.length });
  }
  async function post(event: WebhookEvent): Promise<void> {
    if (url === undefined || stopped.signal.aborted) return;
    const outcome = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(event),
      redirect: 'manual',
      signal: AbortSignal.any([stopped.signal, AbortSignal.timeout(patienceMs)]),
    })
      .then(async (answer) => {
        await answer.body?.cancel();
        return answer.status;
      })
      .catch((error: Error) => (error.cause instanceof Error ? error.cause.message : error.message));
    sent.push({ event, outcome });
  }
  function tell(): void {
    for (const team of teams) {
      sendDueMessages(team, clock.now());
      const { deliveries = 0, reads = 0 } = told.get(team) ?? {};
      const events = [
        ...team.conversationsRead.slice(reads).map((read) => ['conversation.read', read] as const),
        ...team.deliveries.slice(deliveries).map((delivery) => ['message.sent', delivery] as const),
      ];
      const created = new Date(clock.now()).toISOString();
      for (const [event, data] of events)
        last = last.then(() => post({ id: randomUUID(), event, team_id: team.id, created, data }));
    }
    skip();
  }
  let timer: NodeJS.Timeout | undefined;
  return {
    sent,
    start: () => {
      skip();
      if (url !== undefined) timer = setInterval(tell, everyMs).unref();
    },
    skip,
    close: () => {
      clearInterval(timer);
      stopped.abort();
    },
  };
}

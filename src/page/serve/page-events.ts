/** Notifies open pages of changes by server-sent events. While no page is connected, it does not poll the database. */
import type { ServerResponse } from 'node:http';

export interface PageEvents {
  /** @returns `false` if there are too many listeners */
  join(response: ServerResponse): boolean;
  close(): void;
}

const mostListeners = 100;

/** @param pulse reads a text that differs whenever something has changed */
export function createPageEvents(pulse: () => Promise<string>, everyMs = 3_000): PageEvents {
  const listeners = new Set<ServerResponse>();
  let timer: NodeJS.Timeout | undefined;
  let last: string | undefined;
  let isAsking = false;
  const tell = (event: string) => {
    for (const listener of listeners) listener.write(`event: ${event}\ndata:\n\n`);
  };
  const look = async () => {
    if (isAsking) return;
    isAsking = true;
    try {
      const now = await pulse();
      tell(last === undefined || now === last ? 'alive' : 'changed');
      last = now;
    } catch {
      // The failure is ignored, because the page itself shows how old it is.
    } finally {
      isAsking = false;
    }
  };
  const leave = (listener: ServerResponse) => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    last = undefined;
  };
  return {
    join: (response) => {
      if (listeners.size >= mostListeners) return false;
      listeners.add(response);
      response.on('close', () => leave(response));
      response.on('error', () => leave(response));
      response.write('retry: 5000\n\n');
      timer ??= setInterval(() => void look(), everyMs).unref();
      void look();
      return true;
    },
    close: () => {
      for (const listener of listeners) listener.end();
      clearInterval(timer);
    },
  };
}

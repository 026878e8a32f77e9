/** When to run: a cron expression, as a hint. The only home of node-cron. */
import { createTask, validateDetailed } from 'node-cron';

export interface Schedule {
  /** When it fires next. */
  next(): Date | null;
  close(): Promise<void>;
}

/** Why this is no schedule, in words; `undefined` if it is one. */
export function validateSchedule(expression: string, timezone: string): string | undefined {
  const { valid, errors } = validateDetailed(expression);
  if (!valid) {
    return `"${expression}" is no cron expression: ${errors.map(({ message }) => message).join('; ')}`;
  }
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
    return undefined;
  } catch {
    return `"${timezone}" is no time zone`;
  }
}

/** Calls `onTick` at each time of the expression; it must not throw. */
export async function createSchedule(
  expression: string,
  timezone: string,
  onTick: () => void,
): Promise<Schedule> {
  const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
  const task = createTask(expression, onTick, { timezone, logger: silent, suppressMissedWarning: true });
  // A tick that a sleep or a stall swallowed is answered as soon as somebody is awake.
  task.on('execution:missed', onTick);
  await task.start();
  return {
    next: () => task.getNextRun(),
    close: async () => {
      await task.destroy();
    },
  };
}

import { fork } from 'node:child_process';
import type { EmulatorOptions } from '../src/emulator/options.ts';
import { type Environment, programHere } from './measure-process.ts';

export interface ServiceOptions {
  readonly emulator: EmulatorOptions;
  /** The same request is answered with the same bytes, until something is edited. */
  readonly replay?: boolean;
  /** Until a request is taken up. */
  readonly delayMs?: number;
}

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface Arrival {
  /** Of the monotonic clock that all processes of a machine share. */
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  body: string;
  status: number;
}

/** What the process of the service does when it is told to. */
export interface Calls {
  /** What a client needs, team by team. */
  environments(): readonly Environment[];
  arrivals(): readonly Arrival[];
  clear(): void;
  /** The requests whose answers are kept. */
  exchanges(): readonly Exchange[];
  /** Every so-manieth user and tag, as if by somebody in the web app. */
  editEvery(nth: number, mark: string): Promise<void>;
  setDelay(ms: number): void;
}

type Asked = {
  readonly [Name in keyof Calls]: (
    ...args: Parameters<Calls[Name]>
  ) => Promise<Awaited<ReturnType<Calls[Name]>>>;
};

export interface Service extends Asked {
  readonly environment: Environment;
  close(): Promise<void>;
}

/** Starts the service in a process of its own. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const child = fork(programHere('service-process.ts'), [JSON.stringify(options)], {
    serialization: 'advanced',
    execArgv: ['--max-old-space-size=4096'],
  });
  const waiting = new Map<number, (result: unknown) => void>();
  let calls = 0;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const died = ended.then(() => Promise.reject(new Error('the process of the service has ended')));
  died.catch(() => undefined);
  const answerTo = (id: number) =>
    Promise.race([new Promise<unknown>((resolve) => waiting.set(id, resolve)), died]);
  child.on('message', ({ id, result }: { readonly id: number; readonly result: unknown }) => {
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  await answerTo(0);
  const ask =
    (name: keyof Calls) =>
    (...args: readonly unknown[]) => {
      calls += 1;
      const answer = answerTo(calls);
      child.send({ id: calls, name, args });
      return answer;
    };
  const asked = Object.fromEntries(
    (['environments', 'arrivals', 'clear', 'exchanges', 'editEvery', 'setDelay'] as const).map((name) => [
      name,
      ask(name),
    ]),
  ) as unknown as Asked;
  const [environment = {}] = await asked.environments();
  return {
    ...asked,
    environment,
    close: async () => {
      child.disconnect();
      await ended;
    },
  };
}

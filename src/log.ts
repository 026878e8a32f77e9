/**
 * The log: one JSON line per event on stderr. Only chosen values are logged, never a whole object from other code. As a
 * second safety net, known secrets and anything that looks like a token are removed from each line.
 */
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import { plainWords, stackInSource } from './errors.ts';
import type { Secret } from './secret.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: string;
  /** The secrets to hide. The list is read again for each line, because it can grow. */
  readonly secrets?: readonly Pick<Secret, 'reveal'>[];
  /** The stream of the log, which is stderr by default. */
  readonly stream?: DestinationStream | undefined;
}

const token = /eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g;

export function createLog({ level, secrets = [], stream }: LogOptions): Log {
  const blot = (line: string) =>
    secrets
      .map((secret) => secret.reveal())
      .filter((value) => value.length >= 4)
      .reduce((text, value) => text.replaceAll(value, '[secret]'), line)
      .replace(token, '[token]');
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      hooks: { streamWrite: blot },
    },
    stream ?? createStderr(),
  );
}

/** If the log cannot be written, the run continues. Lines that a full disk rejected are written once there is space. */
function createStderr(): DestinationStream {
  const stderr = destination({ fd: 2, sync: true });
  stderr.on('error', () => undefined);
  return stderr;
}

/** The codes, or classes of codes, of Postgres errors whose messages can quote a value of a row. */
const quoting = /^(?:22|23514|44|P0)/;

/** The message of an error; only the code if the message can contain a name, an address or another value of a row. */
function withoutValues(error: Error): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code, severity } = at as Error & Record<string, unknown>;
    if (severity !== undefined && typeof code === 'string' && quoting.test(code))
      return `Postgres refuses it: ${code}`;
  }
  return error.message;
}

/** The parts of an error to log. The object itself is never logged, because it can contain a connection or a header. */
export function describeError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) {
    const message: unknown =
      typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : undefined;
    return { message: typeof message === 'string' ? message : String(error) };
  }
  const { code, operation, status, label, requestId, phase } = error as Error & Record<string, unknown>;
  const stack = code === undefined ? stackInSource(error) : undefined;
  return {
    name: error.name,
    message: withoutValues(error),
    code,
    operation,
    status,
    label: typeof label === 'string' && plainWords.test(label) ? label : undefined,
    requestId,
    phase,
    stack,
  };
}

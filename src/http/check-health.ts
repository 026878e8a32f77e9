/**
 * The health check of a container engine, for an image without shell and curl: asks the status server of the daemon in
 * the same container. The port comes only from the environment, which takes precedence over the settings file. So a file
 * that is being edited cannot make a daemon look unhealthy.
 */
import { get } from 'node:http';

interface Health {
  readonly healthy: boolean;
  /** One line for people who read the container engine's record. */
  readonly words: string;
}

/** Longer answers are cut, because container engines keep only this much. */
const longestAnswer = 4_000;

/** The address at which this container reaches a server that listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** @param path `/healthz` if the process answers; `/freshness` if each mirror is as new as its schedule promises */
export async function askHealth(
  env: Readonly<Record<string, string | undefined>>,
  path = '/healthz',
  timeoutMs = 4_000,
): Promise<Health> {
  const port = Number(env['MUSTERD__status__port'] || 0);
  if (port === 0)
    return { healthy: false, words: 'MUSTERD__status__port is not set: there is no server to ask' };
  const host = reachable(env['MUSTERD__status__host'] || '127.0.0.1');
  const { promise, resolve, reject } = Promise.withResolvers<Health>();
  const signal = AbortSignal.timeout(timeoutMs);
  get({ host, port, path, signal, agent: false }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      if (text.length < longestAnswer) text += chunk.slice(0, longestAnswer - text.length);
    });
    response.on('error', reject);
    response.on('end', () => {
      const { statusCode = 0 } = response;
      resolve({ healthy: statusCode === 200, words: `${statusCode} ${text.replaceAll(/\s+/g, ' ')}` });
    });
  }).on('error', reject);
  try {
    return await promise;
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    const problem = signal.aborted ? `no answer within ${timeoutMs} ms` : (code ?? name);
    return { healthy: false, words: `${path}: ${problem}` };
  }
}

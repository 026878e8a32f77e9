import { MusterdError } from '../errors.ts';

const loopback = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function refuse(why: string, hint: string): never {
  throw new MusterdError('configuration', `The service's base URL ${why}`, { hint });
}

/** The service's address without a slash at its end, for example `https://host/path`. */
export interface BaseUrl {
  readonly origin: string;
  /** The path between the origin and `/v1`; mostly empty. */
  readonly pathPrefix: string;
}

/**
 * Checks the address before any credential goes there. "Requests must use HTTPS" (interface.md, General
 * rules, 2). Plain http is accepted only for a loopback address, where the emulator listens.
 *
 * @throws MusterdError `configuration`. The message leaves out the address, because it may contain a password.
 */
export function checkBaseUrl(text: string): BaseUrl {
  if (!URL.canParse(text)) refuse('is not a URL', 'Give it as https://host.');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    refuse('holds a user name or a password', 'Credentials are settings of their own.');
  }
  if (text.includes('?') || text.includes('#')) {
    refuse('holds a query or a fragment', 'Give it as https://host, or https://host/path.');
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback.test(url.hostname))) {
    refuse('does not use https', 'Plain http is accepted for loopback addresses only.');
  }
  const pathPrefix = url.pathname.replace(/\/+$/, '');
  if (pathPrefix.endsWith('/v1'))
    refuse('ends in /v1, which musterd adds', `Write ${url.origin}${pathPrefix.slice(0, -3)}.`);
  return { origin: url.origin, pathPrefix };
}

import { Agent } from 'undici';
import { type Called, call, token } from './call.ts';

/** A service to be called: the emulator, or a real deployment. */
export interface Target {
  readonly baseUrl: string;
  readonly secret: { readonly id: string; readonly key: string };
  readonly apiKey?: string | undefined;
  /** A certificate authority to trust in place of the usual ones, in PEM. */
  readonly authority?: string | undefined;
}

/** Knows nothing but HTTP; `bearer` null sends no credentials, undefined a fresh token. */
export interface PlainClient {
  readonly target: Target;
  send(operation: string, body?: unknown, bearer?: string | null): Promise<Called>;
}

export function createPlainClient(target: Target): PlainClient {
  const { baseUrl: url, secret, authority } = target;
  const dispatcher = authority === undefined ? undefined : new Agent({ connect: { ca: authority } });
  return {
    target,
    send: (operation, body, bearer = token(secret)) =>
      call({ url, environment: {}, dispatcher }, operation, body, bearer),
  };
}

import { createHmac } from 'node:crypto';
import { type Dispatcher, request } from 'undici';
import type { Emulator } from '../../src/emulator/create-emulator.ts';

/** An answer as a plain client sees it. */
export interface Called {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The parsed body; `undefined` if it is not JSON. */
  readonly json: unknown;
}

/** A JWT as interface.md builds it, from the standard library alone; `claims` and `header` override. */
export function token(
  secret: { readonly id: string; readonly key: string },
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
): string {
  const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1000);
  const signed = `${segment({ alg: 'HS256', typ: 'JWT', ...header })}.${segment({ iss: secret.id, iat, ...claims })}`;
  const signature = createHmac('sha256', `${secret.id}||${secret.key}`).update(signed).digest('base64url');
  return `${signed}.${signature}`;
}

export function secretOf(environment: Readonly<Record<string, string>>): { id: string; key: string } {
  return { id: environment['MUSTERD_SECRET_ID'] ?? '', key: environment['MUSTERD_SECRET_KEY'] ?? '' };
}

/** The answer to a request that breaks a rule, and to one for a row that does not exist. */
export const badRequest = { status: 400, text: '"error"' } as const;
export const notFound = { status: 404, text: '"not found"' } as const;

/** Calls as `POST /v1/tags`, authenticated as the emulator's first team unless `bearer` says otherwise. */
export async function call(
  emulator: Pick<Emulator, 'url' | 'environment'> & { readonly dispatcher?: Dispatcher | undefined },
  operation: string,
  body?: unknown,
  bearer: string | null = token(secretOf(emulator.environment)),
): Promise<Called> {
  const [method = '', path = ''] = operation.split(' ');
  const answer = await request(`${emulator.url}${path}`, {
    method,
    ...(emulator.dispatcher === undefined ? {} : { dispatcher: emulator.dispatcher }),
    headers: {
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, headers: answer.headers, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

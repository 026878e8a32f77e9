import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TeamSecret } from '../options.ts';
import type { PlayedTeam } from '../rules/played-team.ts';
import type { Variants } from '../faults/variants.ts';

/** The team of the credentials, or the reason for a 401. The reason contains no secret. */
export type Authentication =
  | { readonly team: PlayedTeam; readonly credential: string }
  | { readonly refused: string };

const lifetimeMs = 5 * 60_000;
const leewayMs = {
  'five-minutes': 5 * 60_000,
  'thirty-seconds': 30_000,
  none: 0,
  any: Number.POSITIVE_INFINITY,
} as const;

/**
 * interface.md, Authentication: `Authorization: Bearer`, then a signed JWT or the legacy team API key;
 * either is accepted on every endpoint. `nowMs` is the time by the service's clock.
 */
export function authenticate(
  header: string | undefined,
  teams: Iterable<PlayedTeam>,
  nowMs: number,
  variants: Variants,
): Authentication {
  if (header === undefined) return { refused: 'no Authorization header' };
  const [, bearer] = /^Bearer +([^\s]+) *$/i.exec(header) ?? [];
  if (bearer === undefined) return { refused: 'not a Bearer header' };
  for (const team of teams) {
    if (team.apiKey !== undefined && sameText(team.apiKey, bearer)) return { team, credential: 'api key' };
  }
  const parts = bearer.split('.');
  const [header64, payload64, signature64] = parts;
  if (parts.length !== 3 || header64 === undefined || payload64 === undefined || signature64 === undefined) {
    return { refused: 'neither an API key of a team nor a JWT' };
  }
  const problem = headerProblem(decodeSegment(header64));
  if (problem !== undefined) return { refused: problem };
  const payload = decodeSegment(payload64);
  if (payload === undefined) return { refused: 'the payload is not base64url JSON' };
  const found = findSecret(teams, payload['iss']);
  if (found === undefined) return { refused: 'iss is not the id of an API Secret' };
  if (!signedWith(found.secret, `${header64}.${payload64}`, signature64)) {
    return { refused: 'the signature does not fit' };
  }
  const stale = ageProblem(payload['iat'], nowMs, leewayMs[variants['future-iat']]);
  return stale === undefined ? { team: found.team, credential: found.secret.id } : { refused: stale };
}

function headerProblem(header: Readonly<Record<string, unknown>> | undefined): string | undefined {
  if (header === undefined) return 'the header is not base64url JSON';
  if (header['alg'] !== 'HS256') return 'alg is not HS256';
  return header['typ'] === 'JWT' ? undefined : 'typ is not JWT';
}

/** `iat` is Unix time in seconds, and a token expires 5 minutes after it; other claims are ignored. */
function ageProblem(iat: unknown, nowMs: number, aheadMs: number): string | undefined {
  if (typeof iat !== 'number') return 'iat is not a number';
  const ageMs = nowMs - iat * 1000;
  if (ageMs >= lifetimeMs) return `expired ${Math.round((ageMs - lifetimeMs) / 1000)} s ago`;
  // A client that rounds up can date a token a second ahead.
  return -ageMs > aheadMs + 1000 ? `iat is ${Math.round(-ageMs / 1000)} s in the future` : undefined;
}

function findSecret(
  teams: Iterable<PlayedTeam>,
  iss: unknown,
): { readonly team: PlayedTeam; readonly secret: TeamSecret } | undefined {
  for (const team of teams) {
    const secret = team.secrets.find((candidate) => candidate.id === iss);
    if (secret !== undefined) return { team, secret };
  }
  return undefined;
}

/** The signing secret is the Secret ID, the two characters `||`, and the Secret Key. */
function signedWith(secret: TeamSecret, signed: string, signature64: string): boolean {
  return sameText(signatureOf(secret, signed), signature64);
}

function signatureOf(secret: TeamSecret, signed: string): string {
  return createHmac('sha256', `${secret.id}||${secret.key}`).update(signed).digest('base64url');
}

/** Makes a token as a client does (interface.md, Authentication). */
export function signToken(secret: TeamSecret, nowMs: number): string {
  const parts = [
    { alg: 'HS256', typ: 'JWT' },
    { iss: secret.id, iat: Math.floor(nowMs / 1000) },
  ];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${signed}.${signatureOf(secret, signed)}`;
}

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Decodes a base64url segment without padding that contains a JSON object. */
function decodeSegment(segment: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = Buffer.from(segment, 'base64url');
  if (bytes.toString('base64url') !== segment) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

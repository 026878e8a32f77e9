import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import { secretOf } from './call.ts';
import { checks } from './conformance.ts';
import { createPlainClient, type PlainClient, type Target } from './plain-client.ts';
import { withEmulator } from './with-emulator.ts';

const deployments: Readonly<Record<string, EmulatorOptions>> = {
  'with the default variants, over HTTPS': {},
  'with many unusual variants, over HTTP': {
    http: true,
    variants: {
      pages: 'base-1-empty',
      'limit-cap': 7,
      'unfiltered-users': 9,
      blank: 'null',
      nulls: 'some',
      'missing-fields': 'some',
      'extra-fields': 'some',
      revisions: 'absent',
      fraction: '0',
      'count-body': 'integer',
      invited: 'boolean',
      phones: 'mixed',
      'schedule-answer': 'id-only',
      order: 'oldest-first',
    },
  },
  'with a date cursor, and a 400 to users/get without a filter': {
    http: true,
    variants: { pages: 'date-cursor', 'unfiltered-users': 'refuse', fraction: 'mixed' },
  },
};

function targetOf(emulator: Emulator): Target {
  return {
    baseUrl: emulator.url,
    secret: secretOf(emulator.environment),
    apiKey: 'legacy',
    authority: emulator.authority,
  };
}

describe.each(Object.entries(deployments))('the emulator %s', (_name, options) => {
  let emulator: Emulator;
  let client: PlainClient;
  beforeAll(async () => {
    emulator = await createEmulator({ users: 40, tags: 90, fields: 11, apiKey: 'legacy', ...options });
    client = createPlainClient(targetOf(emulator));
  });
  afterAll(() => emulator.close());

  it.each(checks)('passes the check "$name" ($sentence)', (check) => check.run(client));
});

describe('the conformance suite', () => {
  const breakages: Readonly<Record<string, (emulator: Emulator) => unknown>> = {
    'answers 401 with another label': (emulator) =>
      emulator.rewrite({ times: 'always' }, (body) => body.replace('"Unauthorized"', '"unauthorized"')),
    'ignores the filter of users/get': (emulator) =>
      emulator.rewrite(
        { path: '/v1/users/get', times: 'always' },
        () => '{"memberships":[{"id":1,"name":"x"}]}',
      ),
    'answers updates without writing them': (emulator) =>
      emulator.addFault({ kind: 'partial-apply', keep: 0, path: '/v1/users/update', times: 'always' }),
    'answers HTML instead of JSON': (emulator) =>
      emulator.addFault({ kind: 'html', path: '/v1/team', times: 'always' }),
  };

  it.each(Object.entries(breakages))('fails if the service %s', (_name, breakIt) =>
    withEmulator({ apiKey: 'legacy' }, async (emulator) => {
      breakIt(emulator);
      const client = createPlainClient(targetOf(emulator));
      const outcomes = await Promise.allSettled(checks.map((check) => check.run(client)));
      expect(outcomes.some((outcome) => outcome.status === 'rejected')).toBe(true);
    }),
  );
});

const {
  MUSTERD_CONFORMANCE_BASE_URL: baseUrl,
  MUSTERD_CONFORMANCE_SECRET_ID: id = '',
  MUSTERD_CONFORMANCE_SECRET_KEY: key = '',
  MUSTERD_CONFORMANCE_API_KEY: apiKey,
  MUSTERD_CONFORMANCE_WRITES: writes,
} = process.env;

/** Only with credentials in the environment, and only the reading part unless writes are asked for. */
if (baseUrl !== undefined) {
  describe('the deployment of MUSTERD_CONFORMANCE_BASE_URL conforms', () => {
    const client = createPlainClient({ baseUrl, secret: { id, key }, apiKey });
    it.each(checks.filter((check) => !check.writes || writes === '1'))('$name ($sentence)', (check) =>
      check.run(client),
    );
  });
}

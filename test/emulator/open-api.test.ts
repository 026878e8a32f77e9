import { readFileSync, writeFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect } from 'vitest';
import { openApiDocument } from '../../src/emulator/wire/open-api.ts';
import { it } from './with-emulator.ts';

const committed = new URL('../../docs/openapi.json', import.meta.url);
const document: unknown = JSON.parse(JSON.stringify(openApiDocument()));

describe('the OpenAPI document', () => {
  it('equals docs/openapi.json (UPDATE_OPENAPI=1 writes it, unformatted)', () => {
    if (process.env['UPDATE_OPENAPI'] === '1') writeFileSync(committed, JSON.stringify(document, null, 2));
    expect(JSON.parse(readFileSync(committed, 'utf8'))).toEqual(document);
  });

  it("passes the recommended rules of Redocly's linter without an error or a warning", async () => {
    const problems = await lintFromString({
      source: JSON.stringify(document, null, 2),
      config: await createConfig({ extends: ['recommended-strict'] }),
    });
    expect(problems.map((problem) => `${problem.ruleId}: ${problem.message}`)).toEqual([]);
  });

  it('the emulator serves the OpenAPI document without credentials, and does not log the request', async ({
    emulator,
    ask,
  }) => {
    const answer = await ask('GET /openapi.json', undefined, null);
    expect(answer.json).toEqual(document);
    expect(answer.headers['x-request-id']).toBeDefined();
    expect(emulator.requests).toEqual([]);
  });
});

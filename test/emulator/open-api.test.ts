import { readFileSync, writeFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect } from 'vitest';
import { endpoints } from '../../src/emulator/rules/endpoints.ts';
import { openApiDocument } from '../../src/emulator/wire/open-api.ts';
import { it } from './with-emulator.ts';

const committed = new URL('../../docs/openapi.json', import.meta.url);
const document = JSON.parse(JSON.stringify(openApiDocument())) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
};

describe('the OpenAPI document', () => {
  it('matches the committed file (UPDATE_OPENAPI=1 writes it; format it then)', () => {
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

  it('lists every endpoint once, under a unique operationId', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(operations.toSorted()).toEqual(
      endpoints.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
    expect(operations).toHaveLength(16);
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((op) => op.operationId),
    );
    expect(new Set(ids).size).toBe(16);
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

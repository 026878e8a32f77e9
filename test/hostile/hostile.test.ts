/** A small part of `npm run hostile`. */
import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { playAnswers } from './play-answers.ts';
import { playRows } from './play-rows.ts';

const seed = Number(process.env['TEST_SEED'] ?? 20_261_123);

it('The client turns each generated answer into storable values or an error, and leaks no secret', async () => {
  const { outcomes, broken } = await playAnswers(600, seed);
  expect(broken).toEqual([]);
  expect([...outcomes.keys()].toSorted()).toEqual(['service', 'taken']);
});

it('Runs over generated rows write only values of these rows, and send only values that an editor wrote', async () => {
  const database = await createTestDatabase();
  try {
    const { answers, outcomes, broken } = await playRows(database.db, 800, seed, 300);
    expect(broken).toEqual([]);
    expect(answers).toBeGreaterThanOrEqual(800);
    expect(outcomes.get('complete')).toBeGreaterThan(0);
  } finally {
    await database.close();
  }
});

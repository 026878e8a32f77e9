/** A small part of `npm run hostile`. */
import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { playAnswers } from './play-answers.ts';
import { playRows } from './play-rows.ts';

const seed = Number(process.env['TEST_SEED'] ?? 20_261_123);

it('a client takes generated answers for values that can be stored or for errors, and tells no secret', async () => {
  const { outcomes, broken } = await playAnswers(600, seed);
  expect(broken).toEqual([]);
  expect([...outcomes.keys()].toSorted()).toEqual(['service', 'taken']);
});

it('runs take only values in generated rows, and send only values that an editor wrote', async () => {
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

import { MusterdError } from '../../src/errors.ts';

/** The error of a promise that has to fail with one of musterd's. */
export async function failureOf(promise: Promise<unknown>): Promise<MusterdError> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof MusterdError)) throw error;
  return error;
}

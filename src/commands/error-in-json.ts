/** What a script reads of an error, under `--json`. */
import { type ErrorCode, MusterdError } from '../errors.ts';

export interface ErrorInJson {
  /** `unexpected`: an error that nobody foresaw. */
  readonly code: ErrorCode | 'unexpected';
  readonly message: string;
  /** The next step, where there is one to name. */
  readonly hint: string | null;
}

export function errorInJson(error: unknown): ErrorInJson {
  if (error instanceof MusterdError)
    return { code: error.code, message: error.message, hint: error.hint ?? null };
  return {
    code: 'unexpected',
    message: error instanceof Error ? error.message : String(error),
    hint: null,
  };
}

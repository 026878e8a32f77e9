import type { Context, ExitCode } from './context.ts';

export async function demoCommand(_context: Context, _options: Record<string, unknown>): Promise<ExitCode> {
  return Promise.reject(new Error('not yet'));
}

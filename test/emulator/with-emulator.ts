import { test } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import { type Called, call } from './call.ts';

const createUsual = (options: EmulatorOptions = {}) =>
  createEmulator({ http: true, users: 20, tags: 12, fields: 5, ...options });

/** Runs `use` against an emulator of its own over plain HTTP, and closes it. */
export async function withEmulator<T>(
  options: EmulatorOptions,
  use: (emulator: Emulator) => Promise<T>,
): Promise<T> {
  const emulator = await createUsual(options);
  try {
    return await use(emulator);
  } finally {
    await emulator.close();
  }
}

interface OneEmulator {
  readonly emulator: Emulator;
  /** Calls it as its first team. */
  readonly ask: (operation: string, body?: unknown, bearer?: string | null) => Promise<Called>;
}

/** A test with an emulator of its own, of the usual options. */
export const it = test.extend<OneEmulator>({
  emulator: async ({ onTestFinished }, use) => {
    const emulator = await createUsual();
    onTestFinished(() => emulator.close());
    await use(emulator);
  },
  ask: async ({ emulator }, use) =>
    await use((operation, body, bearer) => call(emulator, operation, body, bearer)),
});

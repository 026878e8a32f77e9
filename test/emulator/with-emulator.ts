import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';

/** Runs `use` against an emulator of its own over plain HTTP, and closes it. */
export async function withEmulator<T>(
  options: EmulatorOptions,
  use: (emulator: Emulator) => Promise<T>,
): Promise<T> {
  const emulator = await createEmulator({ http: true, users: 20, tags: 12, fields: 5, ...options });
  try {
    return await use(emulator);
  } finally {
    await emulator.close();
  }
}

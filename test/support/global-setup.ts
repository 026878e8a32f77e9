import type { TestProject } from 'vitest/node';
import { buildMusterd } from './built.ts';
import { unpackChromium } from './chromium.ts';
import { installedBindir, type TestServer } from './servers.ts';
import { useTemporaryFolder } from './temporary-folder.ts';
import { type Close, prepareServer, startTestServer } from './test-server.ts';

/** One server of each kind for the whole run; vitest calls what it returns at the end. */
export default async function setup(project: TestProject): Promise<Close> {
  const closers: Close[] = [useTemporaryFolder()];
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  const built = Promise.all([buildMusterd(), unpackChromium()]);
  try {
    const found: TestServer[] = [];
    for (const bindir of [undefined, installedBindir()]) {
      if (bindir === undefined && found.length > 0) continue;
      found.push(await startTestServer(bindir, closers));
    }
    const other = process.env['TEST_DATABASE_URL'];
    if (other) found.push(await prepareServer(other, 'TEST_DATABASE_URL', closers));
    await built;
    project.provide('servers', found);
    return close;
  } catch (error) {
    await Promise.allSettled([built]);
    await close();
    throw error;
  }
}

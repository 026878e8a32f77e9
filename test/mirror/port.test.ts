import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { choosePort } from '../../src/embedded/choose-port.ts';
import { connectionHelp } from '../../src/mirror/db/database-url.ts';
import { temporaryFolder } from '../support/checkout.ts';

let folder: ReturnType<typeof temporaryFolder>;
let listening: Server[];
beforeEach(() => {
  folder = temporaryFolder();
  listening = [];
});
afterEach(() => {
  for (const server of listening) server.close();
  folder[Symbol.dispose]();
});

async function take(port = 0): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  listening.push(server);
  return (server.address() as AddressInfo).port;
}

const file = () => join(folder.path, 'port');
const choose = async (isStarted = () => false, ephemeral = false) => {
  const warnings: string[] = [];
  const chosen = await choosePort(
    {
      cluster: { data: folder.path, portFile: file() },
      account: undefined,
      ephemeral,
      onWarning: (words) => warnings.push(words),
    },
    isStarted,
  );
  return { chosen, warnings };
};

describe('the port of the embedded server', () => {
  it('is chosen once, out of the way of outgoing connections, and then kept', async () => {
    const { chosen = 0, warnings } = await choose();
    expect(warnings).toEqual([]);
    expect(chosen).toBeGreaterThanOrEqual(20_000);
    expect(chosen).toBeLessThan(30_000);
    expect(readFileSync(file(), 'utf8')).toBe(`${chosen}\n`);
    expect(await choose()).toEqual({ chosen, warnings: [] });
  });

  it('of a server that leaves nothing behind is out of their way as well, and not kept', async () => {
    const { chosen } = await choose(() => false, true);
    expect(chosen).toBeGreaterThanOrEqual(20_000);
    expect(chosen).toBeLessThan(30_000);
    expect(existsSync(file())).toBe(false);
  });

  it('is one for all that start at once', async () => {
    const all = await Promise.all([choose(), choose(), choose()]);
    expect(new Set(all.map(({ chosen }) => chosen)).size).toBe(1);
  });

  it('is another until the next start where the kept one is taken, and that is told', async () => {
    const taken = await take();
    writeFileSync(file(), `${taken}\n`);
    const { chosen, warnings } = await choose();
    expect(chosen).not.toBe(taken);
    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`port ${taken}, .*on ${chosen}; .*/port names`)),
    ]);
    expect(readFileSync(file(), 'utf8')).toBe(`${taken}\n`);
  });

  it('is not looked for where somebody else has started the server on it', async () => {
    writeFileSync(file(), `${await take()}\n`);
    expect(await choose(() => true)).toEqual({ chosen: undefined, warnings: [] });
  });

  it.each(['', 'nonsense', '0', '70000'])('is chosen again where the file says %j', async (content) => {
    writeFileSync(file(), content);
    const { chosen } = await choose();
    expect(readFileSync(file(), 'utf8')).toBe(`${chosen}\n`);
  });
});

describe('how others get at a database', () => {
  it.each([
    ['postgres://u:secret@h:5433/d', 'postgres://u@h:5433/d', "psql 'postgres://u@h:5433/d'"],
    [
      'postgres://h/d?user=u&password=secret&sslmode=no-verify',
      'postgres://h/d?user=u&sslmode=no-verify',
      "psql 'postgres://h/d?user=u&sslmode=require'",
    ],
    [
      'postgres://u:secret@a:1,b/d?target_session_attrs=read-write',
      'postgres://u@a:1,b/d?target_session_attrs=read-write',
      "psql 'postgres://u@a:1,b/d?target_session_attrs=read-write'",
    ],
    ["postgres://o'n:secret@h/d", "postgres://o'n@h/d", "psql 'postgres://o%27n@h/d'"],
  ])('of %s is without the password', (url, shown, psql) => {
    expect(connectionHelp(url)).toEqual({ url: shown, psql });
  });
});

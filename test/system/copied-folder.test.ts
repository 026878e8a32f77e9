import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createService, type MirrorAt, mirrorAt } from './mirror-at.ts';
import { ownFolder } from './own-folder.ts';

describe('a copied data folder of the embedded server', () => {
  let service: Awaited<ReturnType<typeof createService>>;
  let home: MirrorAt;
  let copy: MirrorAt;
  let user: number;
  let other: number;
  const root = ownFolder();
  const [original, copied] = [join(root, 'mirror'), join(root, 'copy')];
  beforeAll(async () => {
    service = await createService();
    [user = 0, other = 0] = [...service.users];
    const inFolder = (folder: string) => mirrorAt(service.emulator, { MUSTERD_DATA_DIR: folder });
    [home, copy] = [inFolder(original), inFolder(copied)];
    expect((await home.musterd('reconcile')).code).toBe(0);
    // The last command that used it has stopped the server: with owners and modes, as a backup keeps them.
    expect(spawnSync('cp', ['-a', original, copied]).status).toBe(0);
  });
  afterAll(() => service.emulator.close());

  it('musterd status with the original data folder prints the path of this folder', async () => {
    expect((await home.musterd('status')).stdout).toMatch(new RegExp(`^place +folder ${original}$`, 'm'));
  });

  it('reconcile in the copy exits 3 and sends no update, and adopt --also in the copy exits 64 (D19)', async () => {
    const email = service.emailOf(user);
    await copy.edit(user, 'copied@example.com');
    const run = await copy.musterd('reconcile');
    expect(run.code).toBe(3);
    expect(run.stdout).toContain(`was at folder ${original}`);
    expect(run.stdout).toContain(`is at folder ${copied} now`);
    expect(run.stdout).not.toContain('--also');
    const also = await copy.musterd('adopt', '--also', '--reason', 'x', '--yes');
    expect(also).toMatchObject({ code: 64, stderr: expect.stringContaining('a copy of the one') as string });
    expect((await copy.musterd('reconcile')).code).toBe(3);
    expect(service.updates()).toBe(0);
    expect(service.emailOf(user)).toBe(email);
  });

  it('musterd api exits 3 and sends nothing from the copy, but sends from the original and without a mirror', async () => {
    const tag = ['api', 'POST', '/v1/tag', '--field', 'tag=by hand'] as const;
    expect(await copy.musterd(...tag)).toMatchObject({ code: 3, stdout: '' });
    expect((await home.musterd(...tag)).code).toBe(0);
    const nowhere = mirrorAt(service.emulator, { MUSTERD_DATA_DIR: join(root, 'nowhere') });
    expect((await nowhere.musterd(...tag)).code).toBe(0);
    expect(service.emulator.requests.filter(({ path }) => path === '/v1/tag')).toHaveLength(2);
  });

  it('musterd sends from the copy after adopt, and continues to send from the original', async () => {
    expect((await copy.musterd('adopt', '--reason', 'a larger disk', '--yes')).code).toBe(0);
    expect((await copy.musterd('reconcile')).code).toBe(0);
    expect(service.emailOf(user)).toBe('copied@example.com');
    await home.edit(other, 'original@example.com');
    expect((await home.musterd('reconcile')).code).toBe(0);
    expect(service.emailOf(other)).toBe('original@example.com');
  });
});

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeWholeFile } from '../../src/files/write-file.ts';

describe('writeWholeFile', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('replaces the file only once the new content is complete', async () => {
    const path = join(folder, 'whole');
    writeFileSync(path, 'before');
    const result = await writeWholeFile(path, async (write) => {
      await write('a');
      expect(readFileSync(path, 'utf8')).toBe('before');
      await write('b');
      return 7;
    });
    expect([result, readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual([7, 'ab', ['whole']]);
  });

  it('gives a new file the mode 600, and keeps the mode of an existing file', async () => {
    const path = join(folder, 'private');
    const modeOf = () => statSync(path).mode & 0o777;
    await writeWholeFile(path, async (write) => {
      await write('a');
      for (const name of readdirSync(folder).filter((one) => one.includes('private')))
        expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
    });
    expect(modeOf()).toBe(0o600);
    chmodSync(path, 0o664);
    await writeWholeFile(path, (write) => write('b'));
    expect(modeOf()).toBe(0o664);
    rmSync(path);
  });

  it('leaves no file behind if writing fails', async () => {
    const failing = writeWholeFile(join(folder, 'part'), async (write) => {
      await write('a');
      throw new Error('no more');
    });
    await expect(failing).rejects.toThrow('no more');
    expect(readdirSync(folder)).toEqual(['whole']);
  });

  const isRoot = process.getuid?.() === 0;
  it.runIf(isRoot)('follows a link of its own user, and refuses a link of another user (S22)', async () => {
    const [own, theirs, target] = [join(folder, 'own'), join(folder, 'theirs'), join(folder, 'target')];
    writeFileSync(target, 'before');
    for (const [link, to] of [
      [own, target],
      [theirs, target],
      [`${theirs}-to-nothing`, join(folder, 'nothing')],
    ] as const) {
      symlinkSync(to, link);
      if (link !== own) lchownSync(link, 65_534, 65_534);
    }
    for (const link of [theirs, `${theirs}-to-nothing`])
      await expect(writeWholeFile(link, (write) => write('a'))).rejects.toThrow('is a link of another user');
    expect(readFileSync(target, 'utf8')).toBe('before');
    await writeWholeFile(own, (write) => write('b'));
    expect([readFileSync(target, 'utf8'), lstatSync(own).isSymbolicLink()]).toEqual(['b', true]);
    expect(existsSync(join(folder, 'nothing'))).toBe(false);
    for (const name of [own, theirs, target, `${theirs}-to-nothing`]) rmSync(name);
  });

  it.runIf(isRoot)('replaces another user’s file by a private file, and refuses another’s pipe', async () => {
    const [theirs, ours, pipe] = [join(folder, 'theirs'), join(folder, 'ours'), join(folder, 'pipe')];
    for (const file of [theirs, ours]) {
      writeFileSync(file, 'before');
      chmodSync(file, 0o666);
    }
    chownSync(theirs, 65_534, 65_534);
    execFileSync('mkfifo', [pipe]);
    chownSync(pipe, 65_534, 65_534);
    for (const file of [theirs, ours]) await writeWholeFile(file, (write) => write('a'));
    expect([theirs, ours].map((file) => [lstatSync(file).uid, lstatSync(file).mode & 0o777])).toEqual([
      [0, 0o600],
      [0, 0o666],
    ]);
    await expect(writeWholeFile(pipe, (write) => write('a'))).rejects.toThrow('is a pipe of another user');
    for (const name of [theirs, ours, pipe]) rmSync(name);
  });

  it('writes to a device, and refuses a folder', async () => {
    await writeWholeFile('/dev/null', (write) => write('a'));
    expect(readFileSync('/dev/null', 'utf8')).toBe('');
    await expect(writeWholeFile(folder, (write) => write('a'))).rejects.toMatchObject({ code: 'usage' });
  });
});

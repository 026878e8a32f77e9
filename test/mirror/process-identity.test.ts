import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { isRunning, thisProcess } from '../../src/mirror/db/process-identity.ts';
import { eventually } from '../support/eventually.ts';

describe('isRunning', () => {
  it('returns true for this process, and false for the same process id with another start time', () => {
    const { pid, process: started, host } = thisProcess();
    expect(pid).toBe(BigInt(process.pid));
    expect(host).not.toBe('');
    expect(started).toMatch(/^\d+$/);
    expect(isRunning({ pid, process: started })).toBe(true);
    expect(isRunning({ pid, process: `${started}0` })).toBe(false);
    // Where its start could not be told, its number is all there is.
    expect(isRunning({ pid, process: '' })).toBe(true);
  });

  it('returns true for a process of another user', () => {
    expect(isRunning({ pid: 1n, process: '' })).toBe(true);
  });

  it('returns false for a process that has exited, even before its parent reaps the process', async () => {
    // The shell replaces itself, and the new program never asks about the child.
    const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const child = BigInt(line.toString().trim());
    await eventually('the child has ended', () => !isRunning({ pid: child, process: '' }));
    expect(isRunning({ pid: BigInt(parent.pid ?? 0), process: '' })).toBe(true);
    const ended = once(parent, 'exit');
    parent.kill('SIGKILL');
    await ended;
    expect(isRunning({ pid: BigInt(parent.pid ?? 0), process: '' })).toBe(false);
  });
});

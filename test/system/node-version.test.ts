import { describe, expect, it } from 'vitest';
import { nodeRefusal } from '../../src/commands/node-version.ts';
import { spawnMusterd } from './run-musterd.ts';

describe('the version of Node', () => {
  it.each([
    ['24.0.0', true],
    ['24.11.1', true],
    ['25.0.0-nightly', true],
    ['100.1.0', true],
    ['23.11.0', false],
    ['20.20.2', false],
    ['2.4.0', false],
    ['0.24.0', false],
    ['', false],
  ])('nodeRefusal accepts only Node 24 or newer: "%s", %s', (version, taken) => {
    expect(nodeRefusal(version) === null).toBe(taken);
  });

  it('musterd exits with 78 on Node 20, and says that it needs Node 24 or newer', async () => {
    const old = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})";
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(old)}` };
    const words = 'Node 24 or newer is needed, and this is Node 20.20.2';
    expect(await spawnMusterd(['status'], env)).toMatchObject({
      code: 78,
      stdout: '',
      stderr: `musterd: ${words}\n`,
    });
    const { code, stdout } = await spawnMusterd(['status', '--json'], env);
    expect(code).toBe(78);
    expect(JSON.parse(stdout)).toEqual({ error: { code: 'configuration', message: words, hint: null } });
  });
});

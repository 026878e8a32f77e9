import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { MUSTERD } from '../support/built.ts';
import { COMPILED, plainEnvironment, ROOT, temporaryFolder } from '../support/checkout.ts';
import { run } from '../support/run.ts';
import { createStage, type Stage } from '../system/stage.ts';

interface Comment {
  readonly id: number;
  readonly by: string;
  body: string;
}

const robot = 'github-actions[bot]';
const token = 'of-the-robot';

/** As much of either forge as keeps comments; it answers nobody without the token. */
interface Forge {
  readonly url: string;
  readonly comments: Comment[];
  /** Requests by number, and the commit as which they were merged. */
  readonly merged: Map<number, string>;
  readonly writes: string[];
  close(): Promise<void>;
}

async function createForge(): Promise<Forge> {
  const comments: Comment[] = [];
  const merged = new Map<number, string>();
  const writes: string[] = [];
  const shown = ({ id, by, body }: Comment) => ({ id, body, user: { login: by }, author: { username: by } });
  const requests = (sha: string) =>
    [...merged].map(([number, as]) => ({
      number,
      iid: number,
      state: 'merged',
      merged_at: '2026-03-01T09:00:00Z',
      base: { ref: 'main' },
      target_branch: 'main',
      merge_commit_sha: as,
      squash_commit_sha: null,
      sha: `head-of-${sha}`,
    }));
  const answer = (method: string, url: URL, body: string): unknown => {
    const { pathname: path, searchParams } = url;
    if (path.endsWith('/user')) return { username: robot };
    const cut = (rows: readonly object[]) => {
      const size = Number(searchParams.get('per_page'));
      const page = Number(searchParams.get('page'));
      return rows.slice((page - 1) * size, page * size);
    };
    const commit = /\/commits\/(\w+)\/(?:pulls|merge_requests)$/.exec(path)?.[1];
    if (commit !== undefined) return cut(requests(commit));
    if (/\/(?:issues|merge_requests)\/12\/(?:comments|notes)$/.test(path)) {
      if (method === 'GET') return cut(comments.map(shown));
      const comment = { id: 1000 + comments.length, by: robot, body };
      writes.push(method);
      comments.push(comment);
      return shown(comment);
    }
    const id = /\/(?:issues\/comments|merge_requests\/12\/notes)\/(\d+)$/.exec(path)?.[1];
    const comment = comments.find((one) => one.id === Number(id));
    if (comment === undefined) return undefined;
    writes.push(method);
    comment.body = body;
    return shown(comment);
  };
  const server: Server = createServer((request, response) => {
    const { method = '', url = '/', headers } = request;
    const isKnown = headers.authorization === `Bearer ${token}` || headers['private-token'] === token;
    const body = method === 'GET' ? Promise.resolve({ body: '' }) : readJson(request);
    void body.then((given) => {
      const found = answer(method, new URL(url, 'http://forge'), (given as { body: string }).body);
      response.statusCode = !isKnown ? 401 : found === undefined ? 404 : 200;
      response.end(JSON.stringify(isKnown ? (found ?? {}) : {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/api`,
    comments,
    merged,
    writes,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Step {
  readonly id?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}
interface GithubFile {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: object;
  readonly env: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<'plan' | 'apply', GithubJob>>;
}
interface GithubJob {
  readonly if: string;
  readonly environment?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}
interface GitlabJob {
  readonly rules: readonly { readonly if: string }[];
  readonly script: readonly string[];
}

const textOf = (name: string) => readFileSync(join(ROOT, 'config/ci', name), 'utf8');
const github = parse(textOf('github.yaml')) as GithubFile;
const gitlab = parse(textOf('gitlab.yaml')) as {
  readonly variables: Readonly<Record<string, string>>;
  readonly default: { readonly before_script: readonly string[] };
} & Readonly<Record<'roster plan' | 'roster apply', GitlabJob>>;

describe('a roster in git (config/ci)', () => {
  const folder = temporaryFolder();
  let stage: Stage;
  let forge: Forge;
  let ids: readonly number[];
  const roster = (rows: readonly object[]) =>
    writeFileSync(join(folder.path, 'roster.yaml'), rows.map((row) => `- ${JSON.stringify(row)}\n`).join(''));
  beforeAll(async () => {
    stage = await createStage({ emulator: { users: 60, tags: 3, fields: 1 } });
    await stage.run();
    ids = stage.emulator.team
      .users()
      .filter(({ first, last, email, phone }) => /^\S+$/.test(first) && /^\S+$/.test(last) && email && phone)
      .map(({ id }) => id);
    for (const name of ['ci', 'musterd']) mkdirSync(join(folder.path, name));
    cpSync(join(ROOT, 'config/ci/comment.mjs'), join(folder.path, 'ci/comment.mjs'));
    const write = (name: string, value: object) =>
      writeFileSync(join(folder.path, name), JSON.stringify(value));
    const dependencies = { musterd: 'file:musterd' };
    const bin = { musterd: 'main.js' };
    write('package.json', { private: true, dependencies });
    write('package-lock.json', {
      lockfileVersion: 3,
      packages: {
        '': { dependencies },
        musterd: { version: '0.1.0', bin },
        'node_modules/musterd': { resolved: 'musterd', link: true },
      },
    });
    write('musterd/package.json', { name: 'musterd', version: '0.1.0', type: 'module', bin });
    writeFileSync(
      join(folder.path, 'musterd/main.js'),
      `#!/usr/bin/env node\nawait import(${JSON.stringify(MUSTERD)});\n`,
      { mode: 0o755 },
    );
  });
  afterAll(async () => {
    await stage.close();
    folder[Symbol.dispose]();
  });

  /** What npm installed for one job of a forge is there for the others too. */
  const isInstalled = new Set<string>();
  const bash = async (script: string, env: Readonly<Record<string, string>>) => {
    const file = join(folder.path, 'step.sh');
    writeFileSync(file, script);
    const offline = { npm_config_offline: 'true', npm_config_audit: 'false', NODE_COMPILE_CACHE: COMPILED };
    return await run('bash', ['--noprofile', '--norc', '-eo', 'pipefail', file], {
      cwd: folder.path,
      env: plainEnvironment({ ...offline, MUSTERD__log__level: 'silent', ...env }),
    });
  };

  const ofGithub = (sha: string) => ({
    GITHUB_API_URL: forge.url,
    GITHUB_REPOSITORY: 'acme/roster',
    GITHUB_SHA: sha,
    GITHUB_REF_NAME: 'main',
    GITHUB_ACTOR: 'kim',
  });
  const ofGitlab = (sha: string) => ({
    GITLAB_CI: 'true',
    CI_API_V4_URL: forge.url,
    CI_PROJECT_ID: '7',
    CI_COMMIT_SHA: sha,
    CI_COMMIT_BRANCH: 'main',
    CI_MERGE_REQUEST_IID: '12',
    GITLAB_USER_LOGIN: 'kim',
    ROSTER_TOKEN: token,
  });

  /** The steps of a job one after the other, with what GitHub hands to them. @returns the code of the last one */
  async function onGithub(name: 'plan' | 'apply', sha: string): Promise<number | null> {
    const outputs = new Map<string, string>();
    const given: Readonly<Record<string, string>> = {
      'github.token': token,
      'github.event.pull_request.number': '12',
      'secrets.ROSTER_PLAN_DATABASE_URL': stage.url,
      'secrets.ROSTER_DATABASE_URL': stage.url,
    };
    const filled = (text: string) =>
      text.replaceAll(/\$\{\{ ([\w.]+) \}\}/g, (_, path: string) => given[path] ?? outputs.get(path) ?? '');
    for (const step of github.jobs[name].steps) {
      if (step.run === undefined || (step.run.startsWith('npm ci') && isInstalled.has('GitHub'))) continue;
      const files = {
        GITHUB_OUTPUT: join(folder.path, 'output'),
        GITHUB_STEP_SUMMARY: join(folder.path, 'summary'),
      };
      for (const file of Object.values(files)) writeFileSync(file, '');
      const own = Object.entries(step.env ?? {}).map(([key, text]) => [key, filled(text)]);
      const { status } = await bash(step.run, {
        ...github.env,
        ...files,
        ...ofGithub(sha),
        ...Object.fromEntries(own),
      });
      if (status !== 0) return status;
      if (step.run.startsWith('npm ci')) isInstalled.add('GitHub');
      for (const line of readFileSync(files.GITHUB_OUTPUT, 'utf8').split('\n')) {
        const [key = '', value = ''] = line.split('=');
        outputs.set(`steps.${step.id}.outputs.${key}`, value);
      }
    }
    return 0;
  }

  async function onGitlab(name: 'plan' | 'apply', sha: string): Promise<number | null> {
    const { script } = gitlab[`roster ${name}`];
    const before = isInstalled.has('GitLab') ? [] : gitlab.default.before_script;
    isInstalled.add('GitLab');
    const { status } = await bash([...before, ...script].join('\n'), {
      ...gitlab.variables,
      ...ofGitlab(sha),
      ROSTER_PLAN_DATABASE_URL: stage.url,
      ROSTER_DATABASE_URL: stage.url,
    });
    return status;
  }

  describe.each([
    ['GitHub', onGithub, 'PATCH', ofGithub],
    ['GitLab', onGitlab, 'PUT', ofGitlab],
  ] as const)('on %s', (where, job, edits, environment) => {
    const commit = `c0ffee${where}`;
    beforeAll(async () => {
      forge = await createForge();
      stage.emulator.clearRequests();
    });
    afterAll(() => forge.close());
    const ours = () => forge.comments.filter(({ by, id }) => by === robot && id >= 1000);

    it('shows the planned import in one comment of the request, and applies exactly that import after the merge', async () => {
      const [a = 0, b = 0, c = 0] = where === 'GitHub' ? ids : ids.slice(10);
      // What others write counts for nothing, whatever it looks like; and ours is not on the first page.
      const sham = '<!-- musterd:roster.yaml:0123456789ab -->';
      for (let id = 0; id < 100; id += 1) forge.comments.push({ id, by: 'mallory', body: `${sham}\nx` });
      forge.comments.push({ id: 100, by: robot, body: `another job, ${sham}` });
      const before = await stage.mirrored();
      stage.emulator.team.editUser(c, { first: '`|<b>@all', last: '$(touch pwned)' });
      await stage.run();

      roster([{ id: a, email: `${where}@example.com` }, { email: '`touch pwned`$(touch pwned)' }]);
      expect(await job('plan', commit)).toBe(64);
      expect(ours()).toHaveLength(1);
      expect(ours()[0]?.body).toMatch(
        /^<!-- musterd:roster.yaml:none -->\n# Import `[0-9a-f]{12}` into team 41\n/,
      );
      expect(ours()[0]?.body).toContain('Merging this applies nothing.');

      const rows = [
        { id: a, email: `${where}@example.com` },
        { id: b, phone: `+1 (555) 010-${where === 'GitHub' ? '0166' : '0177'}` },
        { id: c, email: `c${where}@example.com` },
      ];
      roster(rows);
      expect(await job('plan', commit)).toBe(0);
      expect(ours()).toHaveLength(1);
      expect(forge.writes).toEqual(['POST', edits]);
      const [{ body } = { body: '' }] = ours();
      const hash = /^<!-- musterd:roster.yaml:([0-9a-f]{12}) -->\n# Import `\1` into team 41\n/.exec(
        body,
      )?.[1];
      expect(body).toContain(`Merging this applies import \`${hash}\` and nothing else`);
      expect(body).toMatch(/`1555010(0166|0177)`/);
      expect((await stage.mirrored()).get(a)).toEqual(before.get(a));

      // Nobody was shown what another commit changes.
      expect(await job('apply', commit)).toBe(1);
      forge.merged.set(3, 'another');
      forge.merged.set(12, commit);
      expect(await job('apply', commit)).toBe(0);
      expect(ours()[0]?.body).toMatch(
        /^<!-- musterd:roster.yaml:over -->\n# Import [\s\S]*\*\*Applied\.\*\*\n$/,
      );
      expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { pushed: 3 } });
      expect(new Set(stage.updates().map(({ id }) => id))).toEqual(new Set([a, b, c]));
      expect(
        await stage.sql(`select distinct decided_by, decided_why from sync.changes where kind = 'approve'
          and user_id in (${a}, ${b}, ${c})`),
      ).toEqual([['kim, said by musterd', `${where === 'GitHub' ? 'pull' : 'merge'} request 12`]]);
      // Once.
      expect(await job('apply', commit)).toBe(1);
      expect(ours()).toHaveLength(1);
    });

    it('applies nothing if a user changed after the plan, and reports this in the comment', async () => {
      const [a = 0] = where === 'GitHub' ? ids.slice(5) : ids.slice(15);
      roster([{ id: a, email: `later${where}@example.com` }]);
      expect(await job('plan', commit)).toBe(0);
      stage.emulator.team.editUser(a, { email: 'web@example.com' });
      await stage.run();
      expect(await job('apply', commit)).toBe(4);
      expect(ours()).toHaveLength(1);
      expect(ours()[0]?.body).toMatch(/\n---\n\*\*Not applied: the file or the team is no longer as it was/);
      expect((await stage.mirrored()).get(a)).toContain('web@example.com');
    });

    it('shortens a plan of 1,500 lines so that it fits into a comment', async () => {
      const line = `| 9 | unmatched | \`nobody in the team has the email ${'x'.repeat(40)}@example.com\` |\n`;
      writeFileSync(
        join(folder.path, 'plan.md'),
        `# Import \`0123456789ab\` into team 41\n\n${line.repeat(1_500)}`,
      );
      const own = { ...environment(commit), NUMBER: '12', GITHUB_TOKEN: token };
      expect(await bash('node ci/comment.mjs plan plan.md 0', own)).toMatchObject({ status: 0 });
      const [{ body } = { body: '' }] = ours();
      expect(body.length).toBeLessThan(65_536);
      expect(body).toMatch(/\*\*\d+ more lines do not fit here\./);
      expect(body.split('\n').at(-2)).toContain('Merging this applies import `0123456789ab`');
      expect(body).not.toContain('Not applied');
    });
  });

  it('gives each job only the rights it needs, and keeps secrets from forks', () => {
    expect(Object.keys(github.on)).toEqual(['pull_request', 'push']);
    expect(github.permissions).toEqual({});
    for (const { permissions, steps } of Object.values(github.jobs)) {
      expect(permissions).toEqual({ contents: 'read', 'pull-requests': 'write' });
      for (const { uses } of steps) expect(uses ?? '@0'.padEnd(41, '0')).toMatch(/@[0-9a-f]{40}$/);
      // Whatever of the request a script reads, it reads from a variable.
      for (const { run: script = '' } of steps) expect(script).not.toContain('${{');
      // What talks to the database is not given the token, and the other way round.
      for (const { env = {} } of steps) expect('DATABASE_URL' in env && 'GITHUB_TOKEN' in env).toBe(false);
    }
    expect(github.jobs.plan.if).toContain('head.repo.full_name == github.repository');
    expect(JSON.stringify(github.jobs.plan)).not.toContain('secrets.ROSTER_DATABASE_URL');
    expect(github.jobs.apply).toMatchObject({ if: "github.event_name == 'push'", environment: 'roster' });
    expect(gitlab['roster plan'].rules[0]?.if).toContain(
      '$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID',
    );
    expect(gitlab['roster plan'].script.join('\n')).not.toContain('$ROSTER_DATABASE_URL');
    expect(gitlab['roster apply'].rules[0]?.if).toContain('$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH');
  });
});

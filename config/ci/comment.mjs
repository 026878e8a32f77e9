/**
 * Keeps one comment of a pull request (GitHub) or merge request (GitLab) up to date, in which it shows what the roster
 * would change. Nothing is installed for it.
 *
 *   node comment.mjs plan <file> <code>     writes the Markdown of "musterd import --dry-run", which ended with this code
 *   node comment.mjs merged                 prints the number of the request that was merged as this commit, and the hash
 *                                           that its comment shows, as "number=…" and "hash=…"
 *   node comment.mjs ended <number> <code>  adds how the import ended
 *
 * The comment is found again by its first line, which nobody sees, and by who wrote it: what anybody else writes into a
 * comment of their own counts for nothing.
 */
import { readFileSync } from 'node:fs';

const { env } = process;
const roster = env.ROSTER ?? 'roster.yaml';
const sha = env.GITHUB_SHA ?? env.CI_COMMIT_SHA;

/** GitHub takes 65,536 characters. */
const longest = 60_000;

function github() {
  const repository = `${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}`;
  return {
    headers: { authorization: `Bearer ${env.GITHUB_TOKEN}`, accept: 'application/vnd.github+json' },
    me: async () => 'github-actions[bot]',
    author: ({ user }) => user?.login,
    comments: (number) => `${repository}/issues/${number}/comments`,
    edit: (_, id) => ['PATCH', `${repository}/issues/comments/${id}`],
    requests: `${repository}/commits/${sha}/pulls`,
    mergedAs: ({ merged_at, merge_commit_sha, base }) =>
      merged_at !== null && base.ref === env.GITHUB_REF_NAME ? [merge_commit_sha] : [],
    numberOf: ({ number }) => number,
  };
}

function gitlab() {
  const project = `${env.CI_API_V4_URL}/projects/${env.CI_PROJECT_ID}`;
  return {
    headers: { 'private-token': env.ROSTER_TOKEN },
    me: async () => (await call('GET', `${env.CI_API_V4_URL}/user`)).username,
    author: ({ author }) => author?.username,
    comments: (number) => `${project}/merge_requests/${number}/notes`,
    edit: (number, id) => ['PUT', `${project}/merge_requests/${number}/notes/${id}`],
    requests: `${project}/repository/commits/${sha}/merge_requests`,
    mergedAs: ({ state, target_branch, merge_commit_sha, squash_commit_sha, sha: head }) =>
      state === 'merged' && target_branch === env.CI_COMMIT_BRANCH
        ? [merge_commit_sha, squash_commit_sha, head]
        : [],
    numberOf: ({ iid }) => iid,
  };
}

const forge = env.GITLAB_CI === 'true' ? gitlab() : github();

async function call(method, url, body) {
  const options = { method, headers: forge.headers, redirect: 'error', signal: AbortSignal.timeout(30_000) };
  if (body !== undefined) {
    options.headers = { ...forge.headers, 'content-type': 'application/json' };
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(url, options);
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

async function* listed(url) {
  for (let page = 1; ; page += 1) {
    const rows = await call('GET', `${url}?per_page=100&page=${page}`);
    if (rows.length === 0) return;
    yield* rows;
  }
}

const sign = (hash) => `<!-- musterd:${roster}:${hash} -->`;

async function findComment(number) {
  const me = await forge.me();
  for await (const comment of listed(forge.comments(number))) {
    const isOurs = forge.author(comment) === me && comment.body.startsWith(sign('').slice(0, -4));
    if (isOurs) return comment;
  }
  return undefined;
}

async function write(number, comment, body) {
  if (comment === undefined) await call('POST', forge.comments(number), { body });
  else await call(...forge.edit(number, comment.id), { body });
}

/** Cut between two lines, so that no piece of code stays open. */
function fitting(text) {
  if (text.length <= longest) return text;
  const end = text.lastIndexOf('\n', longest);
  const left = text.slice(end).trimEnd().split('\n').length - 1;
  return `${text.slice(0, end)}\n\n**${left} more lines do not fit here. The job that wrote this has all of them.**\n`;
}

async function plan(file, code) {
  const text = readFileSync(file, 'utf8');
  const hash = code === '0' ? /^# Import `([0-9a-f]{12})`/.exec(text)?.[1] : undefined;
  const what =
    text === '' ? 'Nobody knows what this would change: the log of the job says why.\n' : fitting(text);
  const then =
    hash === undefined
      ? 'Merging this applies nothing.'
      : `Merging this applies import \`${hash}\` and nothing else, also beyond the limits of the guard. Where the file or the team is no longer the same by then, nothing is applied.`;
  await write(env.NUMBER, await findComment(env.NUMBER), `${sign(hash ?? 'none')}\n${what}\n${then}\n`);
}

async function merged() {
  for await (const request of listed(forge.requests)) {
    if (!forge.mergedAs(request).includes(sha)) continue;
    const number = forge.numberOf(request);
    const comment = await findComment(number);
    const hash = /:([0-9a-f]{12}) -->/.exec(comment?.body.split('\n')[0] ?? '')?.[1];
    if (hash === undefined)
      throw new Error(`Nothing that can be applied was shown in ${number}, or it was applied`);
    process.stdout.write(`number=${Number(number)}\nhash=${hash}\n`);
    return;
  }
  throw new Error(`No request was merged as ${sha}: nobody was shown what this changes`);
}

const words = {
  0: 'Applied.',
  1: 'Not all of this was applied: the log of the job says why.',
  4: 'Not applied: the file or the team is no longer as it was when this was shown. A new request shows it anew.',
};

async function ended(number, code) {
  const comment = await findComment(number);
  const [first, ...lines] = (comment?.body ?? sign('none')).split('\n');
  const isOver = code === '0' || code === '1';
  const before = lines.join('\n').split('\n<!-- ended -->')[0];
  const said = words[code] ?? `Not applied (exit code ${code}): the log of the job says why.`;
  const end = `\n<!-- ended -->\n---\n**${said}**\n`;
  await write(number, comment, `${isOver ? sign('over') : first}\n${before}${end}`);
}

const [command, ...args] = process.argv.slice(2);
await { plan, merged, ended }[command](...args);

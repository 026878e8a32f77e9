/** The overview of all commands, and the end of a command's --help: examples and the address of a page of the guide. */
import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `musterd --help` lists the commands of a group together. */
export type HelpGroup = 'Run' | 'Look' | 'Decide' | 'Send' | 'Go back' | 'Rehearse';

export const shells = ['bash', 'zsh', 'fish'] as const;

/** Commands that reject --json, because they always or never print JSON. The value is a hint about what to do instead. */
export const withoutJson: ReadonlyMap<string, string> = new Map([
  ['daemon', 'Leave it out: the log is JSON in any case.'],
  ['page', 'Leave it out.'],
  ['api', 'Leave it out: the answer is JSON in any case.'],
  ['export', 'Write --format json.'],
  ['completion', 'Leave it out.'],
  ['emulator', 'Leave it out.'],
  ['demo', 'Leave it out.'],
]);

/** The page of the documents about each command. For other commands, help names the section "Commands" of the guide. */
const pages: Readonly<Record<string, string>> = {
  reconcile: 'guide.md#what-a-run-does',
  daemon: 'guide.md#the-daemon',
  migrate: 'operations.md#upgrade-and-roll-back',
  plan: 'guide.md#see-it-first',
  page: 'operations.md#health',
  held: 'guide.md#held-fields',
  approve: 'guide.md#what-a-guard-stops',
  reject: 'guide.md#going-back',
  withdraw: 'guide.md#going-back',
  resolve: 'guide.md#held-fields',
  hold: 'guide.md#held-fields',
  tag: 'guide.md#tags-messages-and-conversations',
  schedule: 'guide.md#tags-messages-and-conversations',
  conversations: 'guide.md#tags-messages-and-conversations',
  import: 'guide.md#a-file-of-corrections',
  sql: 'guide.md#sql-without-psql',
  undo: 'guide.md#going-back',
  resync: 'guide.md#going-back',
  adopt: 'guide.md#going-back',
  emulator: 'emulator.md#start-it',
};

/** The examples by command. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  reconcile: ['musterd reconcile --wait 60', 'musterd --team north reconcile --json'],
  daemon: ['musterd daemon --config musterd.yaml'],
  migrate: ['musterd migrate'],
  plan: ['musterd plan --exit-code', 'musterd plan --markdown'],
  status: ['musterd status', 'musterd status --json'],
  why: ['musterd why robin@example.com'],
  changes: ['musterd changes --since 2h', 'musterd changes --run 12 --field email'],
  page: ['musterd page', 'musterd page --port 0'],
  verify: ['musterd verify'],
  api: ['musterd api GET /v1/team', 'musterd api POST /v1/tags --paginate'],
  check: ['musterd check', 'musterd check --write-probe robin@example.com'],
  export: ['musterd export -o users.csv', 'musterd export changes --format ndjson'],
  sql: [
    "musterd sql 'select * from report.held'",
    'musterd sql -f report.sql --format csv > report.csv',
    'musterd sql',
  ],
  held: ['musterd held', 'musterd held --all', 'musterd held robin@example.com'],
  approve: [
    "musterd approve 4f1c2a9b7d60 --reason 'they have moved'",
    'musterd approve 4f1c2a9b7d60 --only 17,18.email',
  ],
  reject: ["musterd reject 4f1c2a9b7d60 --revert --reason 'a slip'"],
  withdraw: ['musterd withdraw', "musterd withdraw 4f1c2a9b7d60 --reason 'not yet'"],
  resolve: [
    'musterd resolve robin@example.com phone --take mirror --if 15550100',
    'musterd resolve robin@example.com phone --take service --edit 12 --if-service 15550123',
    "musterd resolve robin@example.com name --take 'Anne Marie|Berg'",
  ],
  hold: ["musterd hold robin@example.com --until 3d --reason 'on leave'"],
  'tag create': ['musterd tag create VIP --yes'],
  'schedule create': [
    "musterd schedule create --inbox 'Front desk' --to 14155550123 --text 'See you' --at '2027-01-15 09:00' --zone Europe/Berlin",
    'musterd schedule create --inbox 7 --list 12 --at 2027-01-15T08:00:00Z --text "$(cat text.txt)" --yes --json',
  ],
  'schedule cancel': ['musterd schedule cancel 9001 --yes'],
  'conversations read': [
    'musterd conversations read --inbox 7 --user robin@example.com --target 14155550123',
  ],
  import: ['musterd import users.csv --dry-run', 'musterd import users.csv --map "Work email=email"'],
  undo: ['musterd undo 12', 'musterd undo 12 --apply'],
  resync: ['musterd resync --adopt-service', 'musterd resync --adopt-service --apply'],
  adopt: ["musterd adopt --reason 'moved to db-2'", "musterd adopt --as-copy --reason 'staging' --yes"],
  emulator: ['musterd emulator --http', 'musterd emulator --list'],
  demo: ['musterd demo', 'musterd demo --serve'],
  completion: ['source <(musterd completion bash)', 'musterd completion fish | source'],
};

/** The npm package contains the documents; the container image does not. */
function addressOf(page: string): string {
  const address = new URL(`../../docs/${page}`, import.meta.url);
  return existsSync(fileURLToPath(address)) ? address.href : `docs/${page} of the npm package`;
}

/** The text below the options of a command. */
export function helpBelow(name: string): string {
  const lines = examples[name] ?? [];
  const exampleLines = lines.length === 0 ? [] : ['', 'Examples:', ...lines.map((line) => `  ${line}`)];
  const page = pages[name.split(' ')[0] ?? ''] ?? 'guide.md#commands';
  return [...exampleLines, '', `Guide: ${addressOf(page)}`].join('\n');
}

/** Lists all commands by group, on one screen of 24 lines. */
export function overviewOf(program: Command): string {
  const groups = Map.groupBy(
    program.createHelp().visibleCommands(program),
    (command) => command.helpGroup() || 'Look:',
  );
  const lines = [...groups].flatMap(([group, commands]) => {
    const rows = [''];
    for (const name of commands.map((command) => command.name())) {
      const row = rows.at(-1) ?? '';
      if (row.length + name.length > 64) rows.push(name);
      else rows[rows.length - 1] = row === '' ? name : `${row}  ${name}`;
    }
    return rows.map((row, at) => `  ${(at === 0 ? group.slice(0, -1) : '').padEnd(10)}${row}`);
  });
  return [
    'Usage: musterd [--config <file>] [--team <name>] [--json] <command>',
    '',
    program.description(),
    '',
    ...lines,
    '',
    '  --config <file>  settings, YAML (or MUSTERD_CONFIG)',
    '  --team <name>    one team of several (or MUSTERD_TEAM)',
    '  --json           print JSON instead of text',
    '  --version        print the version',
    '',
    'musterd <command> --help says what a command does.',
    `Guide: ${addressOf('guide.md')}`,
    '',
  ].join('\n');
}

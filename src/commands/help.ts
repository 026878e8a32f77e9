/** The parts of --help besides commands and options: examples, and the place of the documents. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The commands of a group stand together in `musterd --help`. */
export type HelpGroup = 'Run' | 'Look' | 'Decide' | 'Send' | 'Go back' | 'Rehearse';

export const shells = ['bash', 'zsh', 'fish'] as const;

/** The examples by command. Those of the program itself have an empty name. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  '': [
    'musterd emulator --http',
    'musterd plan',
    'musterd reconcile',
    'musterd why robin@example.com',
    "musterd approve 4f1c2a9b7d60 --reason 'they have moved'",
    'musterd undo 12',
  ],
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
    'musterd schedule create --inbox 7 --list 12 --at 2027-01-15T08:00:00Z --text-file - --yes --json < text.txt',
  ],
  'schedule show': ['musterd schedule show 9001'],
  'schedule update': [
    "musterd schedule update 9001 --at '2027-01-15 10:00' --zone Europe/Berlin --to 14155550123",
    'musterd schedule update 9001 --text Hello --to 14155550123 --if 4f1c2a9b7d60 --yes',
  ],
  'schedule cancel': ['musterd schedule cancel 9001 --if 4f1c2a9b7d60 --yes'],
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

/** The guide lies beside the program, but not in the image. */
function addressOfGuide(): string {
  const guide = new URL('../../docs/guide.md', import.meta.url);
  return existsSync(fileURLToPath(guide)) ? guide.href : 'docs/guide.md of the npm package';
}

/** The text below the options of a command. @param name empty for the program */
export function helpBelow(name = ''): string {
  const lines = examples[name] ?? [];
  const exampleLines = lines.length === 0 ? [] : ['', 'Examples:', ...lines.map((line) => `  ${line}`)];
  return [...exampleLines, '', `Documents: ${addressOfGuide()}`].join('\n');
}

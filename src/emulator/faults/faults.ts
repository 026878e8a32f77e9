import type { Match } from './match.ts';

/**
 * All faults as one table: each kind, its parameters with their defaults, and its effect.
 * On a command line: `--fault kind,name=value,…`. The settings in `faultMatches` select the requests.
 */

export interface FaultDescription<P = Readonly<Record<string, string | number>>> {
  /** Parameters with their defaults. The type of the default is the type of the parameter. */
  readonly parameters: P;
  /** Parameters with a fixed list of words. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  readonly plays: string;
}

function kind<P extends Readonly<Record<string, string | number>>>(
  plays: string,
  parameters: P,
  choices: Readonly<Record<string, readonly string[]>> = {},
): FaultDescription<P> {
  return { plays, parameters, choices };
}

const effects = { effect: ['none', 'applied'] } as const;

export const faultTable = {
  'too-many-requests': kind(
    'A 429 out of turn. `retry-after`: absent, a number of seconds, date:<seconds ahead>, or any text.',
    { 'retry-after': 'absent' },
  ),
  status: kind(
    'Any status, with `label` as its JSON string body; `effect=applied`: the request has its effect first.',
    { code: 503, label: 'error', effect: 'none' },
    effects,
  ),
  redirect: kind('A redirect to `location`.', { code: 302, location: '/v1/inboxes' }),
  html: kind('A page of HTML with status 200.', { effect: 'none' }, effects),
  garbage: kind(
    'Status 200 and JSON for a content type, but a body that is not JSON.',
    { effect: 'none' },
    effects,
  ),
  'reset-before': kind('The connection is reset before the request has any effect.', {}),
  'reset-in': kind('The connection is reset when `percent-sent` of the answer are out.', {
    'percent-sent': 50,
  }),
  'reset-after': kind('The request has its effect, and the connection is reset without an answer.', {}),
  truncate: kind('The connection ends in good order when `percent-sent` of the answer are out.', {
    'percent-sent': 50,
  }),
  drip: kind('The answer comes `bytes` at a time, one such slice each `every-ms`.', {
    bytes: 16,
    'every-ms': 50,
  }),
  stall: kind(
    'No answer ever; `effect=applied`: the request has its effect all the same.',
    { effect: 'none' },
    effects,
  ),
  delay: kind('The request is taken up after `ms`.', { ms: 1000 }),
  oversize: kind('The answer is padded with spaces to `bytes`.', { bytes: 64 * 2 ** 20 }),
  'wrong-team': kind('The answer is that of another team.', {}),
  empty: kind('All lists in the answer are empty.', {}),
  shrink: kind('Listings show `keep` percent of their rows, always the same ones.', { keep: 50 }),
  repeat: kind('Every row of a list stands in it twice.', {}),
  'partial-answer': kind(
    'users/update writes all users and answers with `keep` percent of them; any other write answers with so much of its keys or letters.',
    {
      keep: 50,
    },
  ),
  'partial-apply': kind(
    'users/update writes only the first `keep` percent of the users, and never the field `skip`; 200 all the same, with all users as they are then.',
    { keep: 50, skip: 'none' },
    { skip: ['none', 'name', 'email', 'phone', 'role_id'] },
  ),
  reorder: kind('users/update and users/get answer in the opposite order.', {}),
  late: kind(
    'A write has its effect later: before the request that is the `requests`-th after it, and `ms` later. `answer`: ok (as if it were done; users/update alone), 504, reset, or stall (none at all).',
    { answer: 'ok', requests: 2, ms: 0 },
    { answer: ['ok', '504', 'reset', 'stall'] },
  ),
  doubled: kind(
    'A write has its effect twice, as when something on the way repeats it. `answer`: that of the first or of the second.',
    { answer: 'first' },
    { answer: ['first', 'second'] },
  ),
  drift: kind(
    'Just before the page is read, a row is added in front, the newest row is removed, or the oldest is touched.',
    { action: 'add' },
    { action: ['add', 'remove', 'touch'] },
  ),
  edit: kind(
    'Someone edits a user in the web app, before or after the request has its effect. `user`: an id, or the position in order of the ids, from 1.',
    { user: 1, field: 'email', value: 'edited@example.com', when: 'before' },
    { field: ['first', 'last', 'email', 'phone', 'role_id'], when: ['before', 'after'] },
  ),
  'clock-skew': kind("The service's clock (Date header, token ages) is `seconds` ahead from then on.", {
    seconds: 120,
  }),
} as const;

export type FaultTable = typeof faultTable;
export type FaultKind = keyof FaultTable;
/** A parameter whose default is a number takes numbers; a parameter whose default is a text takes texts. */
export type FaultParametersOf<K extends FaultKind> = {
  readonly [P in keyof FaultTable[K]['parameters']]?: FaultTable[K]['parameters'][P] extends number
    ? number
    : string;
};
export type FaultOf<K extends FaultKind> = Match & { readonly kind: K } & FaultParametersOf<K>;
/** A fault and the requests that it applies to. */
export type Fault = { [K in FaultKind]: FaultOf<K> }[FaultKind];

export const faultKinds = Object.keys(faultTable) as readonly FaultKind[];

/** The settings that select the requests of a fault. They are the same for all kinds. */
const faultMatches = {
  method: 'GET, POST, PUT or DELETE; any when left out',
  path: 'the path as sent, without the query; a * at its end stands for any rest',
  team: 'the id of the team; any when left out',
  at: 'from the n-th of these requests on, counted from 1; 1 when left out',
  times: 'on so many of them, or always; 1 when left out',
  percent: 'of those on so many, by lot, but the same ones each time; 100 when left out',
} as const satisfies Readonly<Record<keyof Match, string>>;

/** The parameters of a kind with their defaults, such as `code=503, label=error, effect=none|applied`. */
export function faultSettings(kind: FaultKind): string {
  const { parameters, choices = {} }: FaultDescription = faultTable[kind];
  return Object.entries(parameters)
    .map(([name, standard]) => `${name}=${choices[name]?.join('|') ?? standard}`)
    .join(', ');
}

/** Describes the settings that select requests, for the output of "musterd emulator --list". */
export function describeMatches(): string {
  const lines = Object.entries(faultMatches).map(([name, means]) => `  ${name.padEnd(8)} ${means}`);
  const example = '--fault status,code=502,path=/v1/tags,at=3,times=2';
  return [`Which requests a fault is played on, as in ${example}:`, ...lines].join('\n');
}

export function parameter<K extends FaultKind, P extends keyof FaultTable[K]['parameters'] & string>(
  fault: FaultOf<K>,
  name: P,
): FaultTable[K]['parameters'][P] extends number ? number : string {
  const given = (fault as Readonly<Record<string, unknown>>)[name];
  const standard = (faultTable[fault.kind].parameters as Readonly<Record<string, unknown>>)[name];
  return (given ?? standard) as FaultTable[K]['parameters'][P] extends number ? number : string;
}

/**
 * Faults as given on a command line, such as `status,code=502,path=/v1/tags,at=3,times=2`. Throws an
 * Error with a message for users.
 */
export function parseFaults(texts: readonly string[]): readonly Fault[] {
  return texts.map((text) => {
    const [kindText = '', ...settings] = text.split(',').map((part) => part.trim());
    const pairs = settings.map((setting) => {
      const [, key = setting, value] = /^([^=]*)=(.*)$/s.exec(setting) ?? [];
      if (value === undefined) throw new Error(`"${setting}" in the fault "${text}" is not name=value.`);
      return [key, value] as const;
    });
    return checkFault({ ...Object.fromEntries(pairs), kind: kindText });
  });
}

/** Checks a fault given as an object, as the control endpoint gets it. Numbers can be given as text. */
export function checkFault(given: Readonly<Record<string, unknown>>): Fault {
  const found = faultKinds.find((candidate) => candidate === given['kind']);
  if (found === undefined) {
    throw new Error(`There is no fault "${String(given['kind'])}". Valid: ${faultKinds.join(', ')}.`);
  }
  const entries = Object.entries(given).filter(([key]) => key !== 'kind');
  return {
    ...Object.fromEntries(entries.map(([key, value]) => [key, checkSetting(found, key, String(value))])),
    kind: found,
  } as Fault;
}

function checkSetting(kind: FaultKind, key: string, value: string): string | number {
  const { parameters, choices = {} }: FaultDescription = faultTable[kind];
  const valid = [...Object.keys(parameters), ...Object.keys(faultMatches)];
  if (!valid.includes(key)) throw new Error(`The fault ${kind} has no "${key}". Valid: ${valid.join(', ')}.`);
  const words = choices[key];
  if (words !== undefined && !words.includes(value)) {
    throw new Error(`${key} of the fault ${kind} cannot be "${value}". Valid: ${words.join(', ')}.`);
  }
  if (key === 'method' || key === 'path' || (key === 'times' && value === 'always')) return value;
  if (typeof parameters[key] === 'string') return value;
  if (!/^-?\d{1,15}$/.test(value))
    throw new Error(`${key} of the fault ${kind} is a whole number, not "${value}".`);
  return Number(value);
}

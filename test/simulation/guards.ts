// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are pieces of files.
/**
 * The guards of the algorithm, by name: a piece of a file, and what stands there without the guard. The simulation runs
 * without one of them to show that it would be noticed.
 */
import { readFileSync } from 'node:fs';
import fs from 'node:fs';
import { registerHooks, syncBuiltinESMExports } from 'node:module';

export interface Guard {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const guard = (name: string, file: string, find: string, replace: string): Guard => ({
  name,
  file,
  find,
  replace,
});

export const guards: readonly Guard[] = [
  guard('quiet period', 'src/reconcile/push/outcome.ts', "if (!quiet) return 'unknown';", ''),
  guard('time of sending', 'src/mirror/users/intents.ts', 'coalesce(c.sent_at, c.opened_at)', 'c.opened_at'),
  guard(
    'send deadline',
    'src/reconcile/push/send-guard.ts',
    'breaker.open || monotonicMs() > sendByMs',
    'breaker.open',
  ),
  guard('lease at the first byte', 'src/reconcile/push/send-guard.ts', 'mirror.requireLease();', ''),
  guard(
    'edit still there when it leaves',
    'src/reconcile/push/send-guard.ts',
    'if (over.length > 0)',
    'if (over.length > 99)',
  ),
  guard(
    'pulls compare the mirror',
    'src/mirror/users/user-rows.ts',
    "and (m.name_split, ${valuesOf('m')}) is not distinct from (s.was_split, ${valuesOf('s', 'was_')})",
    '',
  ),
  guard('results keep a later value', 'src/mirror/users/apply-results.ts', 'and ${isSent} then', 'then'),
  guard(
    'intents of what the mirror has',
    'src/mirror/users/intents.ts',
    "and s.sent <@ ${objectOf('u')}",
    '',
  ),
  guard('intents of the planned edit', 'src/mirror/users/intents.ts', 'and m.is_free and s.id', 'and s.id'),
  guard('the guard has seen it', 'src/reconcile/push/prepare.ts', 'onlyGuarded(plan, seenByGuard)', 'plan'),
  guard(
    'an open intent comes first',
    'src/reconcile/merge/user-case.ts',
    "if (hasOpenIntent || stale === true) return 'waiting';",
    "if (stale === true) return 'waiting';",
  ),
  guard(
    'an older answer is not believed',
    'src/reconcile/merge/user-case.ts',
    "if (hasOpenIntent || stale === true) return 'waiting';",
    "if (hasOpenIntent) return 'waiting';",
  ),
  guard(
    'conflicts are held',
    'src/reconcile/merge/merge-field.ts',
    "if (!moved) return 'push';",
    "return 'push';",
  ),
  guard('reviews', 'src/reconcile/guard/guard.ts', '(isReviewed || ((isRefused', '(false || ((isRefused'),
  guard(
    'batches wait on',
    'src/reconcile/guard/guard.ts',
    'isRefused || push.again.includes(field)',
    'isRefused',
  ),
  guard(
    'a name is known before it goes along',
    'src/reconcile/push/carry-name.ts',
    "if (state === undefined || !isNameless(pushOf(plan)) || safety === 'keeps') return plan;",
    'return plan;',
  ),
  guard(
    'read again before a push',
    'src/reconcile/push/prepare.ts',
    'const youngMs = 1_000;',
    'const youngMs = 1e9;',
  ),
  guard(
    'four eyes',
    'migrations/repeatable/07_decisions.sql',
    "and sync.is_own(case when x.edit_id is null then '{\"\"}' else l.authors end) then 'own'",
    "and false then 'own'",
  ),
];

/** How often the piece stands in its file; each guard's has to stand there once. */
export const countOf = ({ file, find }: Guard): number => readFileSync(file, 'utf8').split(find).length - 1;

/** From now on what is loaded is without this guard. */
export function takeOut({ file, find, replace }: Guard): void {
  const without = (text: string) => text.replace(find, () => replace);
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(file) || loaded.source === undefined || loaded.source === null) return loaded;
      return { ...loaded, source: without(Buffer.from(loaded.source as Uint8Array).toString('utf8')) };
    },
  });
  const read = fs.readFileSync;
  if (!file.endsWith('.sql')) return;
  fs.readFileSync = ((path: string, ...rest: [never]) => {
    const text = read(path, ...rest) as unknown;
    return typeof text === 'string' && String(path).endsWith(file) ? without(text) : text;
  }) as typeof fs.readFileSync;
  syncBuiltinESMExports();
}

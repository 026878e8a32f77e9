import { createTrigger, type Match, type Trigger } from './match.ts';
import type { LoggedRequest } from '../wire/request-log.ts';

/** An action that a test runs at a chosen request; the request waits until the action ends. */
export type Hook = (request: LoggedRequest) => void | Promise<void>;

/** Changes the text of an answer's body in ways that no JSON serialiser would. */
export type Rewrite = (body: string, request: LoggedRequest) => string;

/** Hooks count only requests that have an effect. If a 401, a 429 or a fault stops a request, it is not counted. */
export interface Hooks {
  /** Adds a hook that is called before the request has any effect. @returns a function that removes it */
  readonly before: (match: Match, hook: Hook) => () => void;
  /** Adds a hook that is called after the effect and before the answer is sent. */
  readonly after: (match: Match, hook: Hook) => () => void;
  readonly rewrite: (match: Match, rewrite: Rewrite) => () => void;
}

/** The hooks, and the functions by which the server runs them, each at most once per request. */
export interface HookRunner extends Hooks {
  runBefore(request: LoggedRequest): Promise<void>;
  runAfter(request: LoggedRequest): Promise<void>;
  runRewrites(body: string, request: LoggedRequest): string;
}

/** An action, and the trigger that chooses its requests. */
export interface Hooked<A> {
  readonly trigger: Trigger;
  readonly act: A;
}

export function createHooks(): HookRunner {
  const before = new Set<Hooked<Hook>>();
  const after = new Set<Hooked<Hook>>();
  const rewrites = new Set<Hooked<Rewrite>>();
  return {
    before: (match, hook) => install(before, match, hook),
    after: (match, hook) => install(after, match, hook),
    rewrite: (match, rewrite) => install(rewrites, match, rewrite),
    runBefore: (request) => runAll(before, request),
    runAfter: (request) => runAll(after, request),
    runRewrites: (body, request) =>
      [...rewrites]
        .filter((hooked) => hooked.trigger(request))
        .reduce((text, hooked) => hooked.act(text, request), body),
  };
}

/** Adds an action. @returns a function that removes it */
export function install<A>(hooks: Set<Hooked<A>>, match: Match, act: A): () => void {
  const hooked = { trigger: createTrigger(match), act };
  hooks.add(hooked);
  return () => {
    hooks.delete(hooked);
  };
}

async function runAll(hooks: ReadonlySet<Hooked<Hook>>, request: LoggedRequest): Promise<void> {
  for (const hooked of hooks) {
    if (hooked.trigger(request)) await hooked.act(request);
  }
}

/** The page's forms as a browser sends them: what the page hid in them, what a person ticked and typed. */
import type { Config } from '../../../src/config/config.ts';
import { createPageServer, type StatusServer } from '../../../src/http/server.ts';
import type { Database } from '../../../src/mirror/db/database.ts';
import { createPage } from '../../../src/page/serve/create-page.ts';
import { pageRoutes } from '../../../src/page/serve/page-routes.ts';
import type { Setup } from '../../../src/runs/open.ts';

const log = { warn: () => {}, info: () => {}, debug: () => {}, error: () => {} } as unknown as Setup['log'];

/** Serves the page of a daemon from this process, without runs. */
export async function servePageOf(
  db: Database,
  configs: () => readonly Config[],
  warn: (fields: object) => void = () => {},
): Promise<StatusServer & { readonly origin: string }> {
  const mirror = { db } as Setup['mirror'];
  const page = createPage({ db, configs, version: '0', decide: { mirror, log } });
  const host = '127.0.0.1';
  const server = await createPageServer({ host, port: 0, page: pageRoutes(page), log: { warn } });
  return { ...server, origin: `http://${host}:${server.port}` };
}

export interface Tick {
  /** What its row shows. */
  readonly row: string;
  readonly pair: readonly [name: string, value: string];
}

export interface PageForm {
  readonly path: string;
  readonly hidden: readonly (readonly [name: string, value: string])[];
  readonly ticks: readonly Tick[];
  readonly buttons: readonly {
    readonly words: string;
    readonly pair: readonly [string, string] | undefined;
  }[];
  /** The names of what a person types. */
  readonly typed: readonly string[];
  /** It asks for a reason: pressing its button decides. */
  readonly asksWhy: boolean;
}

type Attributes = Readonly<Record<string, string | undefined>>;
interface Tag extends Attributes {
  readonly inside: string;
}

const entities: Readonly<Record<string, string>> = { amp: '&', quot: '"', lt: '<', gt: '>', '#39': "'" };
const plain = (text: string) => text.replaceAll(/&([^;]+);/g, (all, name: string) => entities[name] ?? all);
export const textOf = (html: string) => plain(html.replaceAll(/<[^>]*>/g, ''));

const attributesOf = (tag: string): Attributes =>
  Object.fromEntries(
    [...tag.matchAll(/([\w-]+)(?:="([^"]*)")?/g)].map(([, name = '', value = '']) => [name, plain(value)]),
  );
const tagsIn = (html: string, name: string): readonly Tag[] =>
  [...html.matchAll(new RegExp(`<${name}\\b([^>]*)>(?:(.*?)</${name}>)?`, 'gs'))].map(
    ([, tag = '', inside = '']) => ({ ...attributesOf(tag), inside }),
  );
const inputsIn = (html: string) =>
  [...html.matchAll(/<input\b([^>]*)>/g)].map(([, tag = '']) => attributesOf(tag));
const pairOf = ({ name = '', value = '' }: Attributes) => [name, value] as const;

export function readForms(html: string): readonly PageForm[] {
  return tagsIn(html, 'form')
    .filter(({ method }) => method === 'post')
    .map(({ action = '', inside }) => {
      const inputs = inputsIn(inside);
      return {
        path: action,
        hidden: inputs.filter(({ type }) => type === 'hidden').map(pairOf),
        ticks: tagsIn(inside, 'tr').flatMap((row) =>
          inputsIn(row.inside)
            .filter(({ type, disabled }) => type === 'checkbox' && disabled === undefined)
            .map((input) => ({ row: textOf(row.inside), pair: pairOf(input) })),
        ),
        buttons: tagsIn(inside, 'button').map((button) => ({
          words: textOf(button.inside),
          pair: button['name'] === undefined ? undefined : pairOf(button),
        })),
        typed: [...inside.matchAll(/<(?:textarea|input)(?![^>]* type=)[^>]* name="(\w+)"/g)].map(
          ([, name = '']) => name,
        ),
        asksWhy: inside.includes('name="why"'),
      };
    });
}

/** The button with these words; `Reject` is not the one that puts back, too. */
export const buttonOf = ({ buttons }: Pick<PageForm, 'buttons'>, words: string) =>
  buttons.find((one) => one.words.startsWith(words) && !one.words.startsWith(`${words} and`));

/** A browser of somebody who knows the token. */
export function createVisitor(origin: string, token: string, name: string) {
  const headers = { authorization: `Basic ${Buffer.from(`${name}:${token}`).toString('base64')}` };
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${origin}${path}`, { ...init, headers, redirect: 'manual' });
    const html = await answer.text();
    const location = answer.headers.get('location');
    const links = tagsIn(html, 'a').map(({ href = '' }) => href);
    const checked = tagsIn(html, 'tr')
      .filter(({ inside }) => inputsIn(inside).some((input) => input['checked'] !== undefined))
      .map(({ inside }) => textOf(inside));
    return { status: answer.status, location, text: textOf(html), forms: readForms(html), links, checked };
  };
  const press = async (form: PageForm, words: string, ticked: (row: string) => boolean = () => true) => {
    const button = buttonOf(form, words);
    if (button === undefined) throw new Error(`There is no button "${words}".`);
    const ticks = form.ticks.filter(({ row }) => ticked(row)).map(({ pair }) => pair);
    const why = form.asksWhy ? [['why', 'a test'] as const] : [];
    const body = new URLSearchParams();
    for (const [name, value] of [
      ...form.hidden,
      ...ticks,
      ...why,
      ...(button.pair === undefined ? [] : [button.pair]),
    ])
      body.append(name, value);
    const answer = await ask(form.path, { method: 'POST', body: body.toString() });
    // A browser goes where it is led; what was decided is read by whoever asks.
    const isRefused = answer.location?.includes('note=') === true;
    return isRefused ? { ...(await ask(answer.location ?? '')), status: 303, location: null } : answer;
  };
  return { ask, press };
}

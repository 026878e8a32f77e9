/** A real browser with fonts: without them nothing is drawn, and an accessibility checker has nothing to judge. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, type Page, chromium as playwright } from 'playwright-core';
import { chromiumPath } from './chromium.ts';
import { hungAfterMs } from './limits.ts';

const ttf = fileURLToPath(new URL('../../node_modules/dejavu-fonts-ttf/ttf', import.meta.url));
const screenshots = fileURLToPath(new URL('../../coverage/screenshots', import.meta.url));

/** What the documents show of it: with UPDATE_PICTURES the test writes them there. */
const inDocuments: ReadonlySet<string> = new Set([
  'glance-of-100000',
  'glance-dark',
  'waiting-light',
  'runs-id-light',
  'people-team-id-light',
  'counts-of-100000',
  'list-1280-light',
  'list-1280-dark',
  'waiting-batch-light',
  'question-1280-light',
  'receipt-1280-light',
  'receipt-1280-dark',
  'hold-1280-light',
  'glance-of-teams-light',
  'glance-of-1',
  'copy-unsaid-glance-light',
  'stopped-light',
  'no-answer',
  'waiting-phone',
  'list-390-dark',
  'receipt-under-way-light',
  'runs-of-1',
  'counts-of-1',
  'tags-of-1',
  'question-390-light',
  'receipt-390-light',
  'batch-own-1280-light',
  'question-own-1280-light',
]);
const pictures = fileURLToPath(new URL('../../docs/page', import.meta.url));

/** In documents, no machine has the name of the one that drew them. */
const hideHost = `{
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    if (texts.currentNode.textContent === '${hostname()}') texts.currentNode.textContent = 'mirror-1';
}`;

/** With UPDATE_PICTURES it leaves a picture of each view in light, and of what the documents show also there. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (process.env['UPDATE_PICTURES'] === undefined) return;
  if (!inDocuments.has(name) && !name.endsWith('-light')) return;
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
  if (!inDocuments.has(name)) return;
  await page.evaluate(hideHost);
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

export interface OwnBrowser {
  readonly browser: Browser;
  close(): Promise<void>;
}

const alias = (family: string, font: string) =>
  `<alias binding="same"><family>${family}</family><prefer><family>${font}</family></prefer></alias>`;

export async function launchBrowser(): Promise<OwnBrowser> {
  const folder = mkdtempSync(join(tmpdir(), 'musterd-fonts-'));
  const families = [alias('sans-serif', 'DejaVu Sans'), alias('system-ui', 'DejaVu Sans')];
  const conf = [...families, alias('monospace', 'DejaVu Sans Mono')].join('');
  writeFileSync(
    join(folder, 'fonts.conf'),
    `<?xml version="1.0"?><fontconfig><dir>${ttf}</dir><cachedir>${folder}/cache</cachedir>${conf}</fontconfig>`,
  );
  mkdirSync(screenshots, { recursive: true });
  const browser = await playwright.launch({
    executablePath: chromiumPath(),
    args: ['--no-sandbox'],
    env: { ...process.env, FONTCONFIG_PATH: folder },
  });
  return {
    browser,
    close: async () => {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const looks = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true },
  tablet: { colorScheme: 'light', viewport: { width: 900, height: 900 } },
  narrow: { colorScheme: 'dark', viewport: { width: 320, height: 700 }, isMobile: true },
} as const;
export type Look = keyof typeof looks;
export const allLooks = Object.keys(looks) as readonly Look[];

export interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of the console, and requests to elsewhere. */
  readonly trouble: string[];
}

/** What is on its way when the network goes would still come in, at a moment that nobody knows. */
const hearsNothingOnceCutOff = `{
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (name, hear) {
    listen.call(this, name, (event) => globalThis.isCutOff || hear(event));
  };
  const ask = globalThis.fetch;
  globalThis.fetch = async (...asked) => {
    const answer = await ask(...asked);
    if (globalThis.isCutOff) throw new TypeError('cut off');
    return answer;
  };
}`;

/** From its return on nothing reaches the page, until it is called with `false`. */
export async function cutOff(page: Page, isCutOff: boolean): Promise<void> {
  await page.context().setOffline(isCutOff);
  await page.evaluate(`globalThis.isCutOff = ${isCutOff}`);
}

/** A page that notes what should not happen. */
export async function openPage(
  { browser }: Pick<OwnBrowser, 'browser'>,
  origin: string,
  look: Look,
  more: Parameters<Browser['newContext']>[0] = {},
): Promise<Watched> {
  const context = await browser.newContext({ locale: 'en-US', ...looks[look], ...more });
  await context.addInitScript(hearsNothingOnceCutOff);
  const page = await context.newPage();
  page.setDefaultTimeout(hungAfterMs / 2);
  const trouble: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') trouble.push(message.text());
  });
  page.on('pageerror', (error) => trouble.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) trouble.push(`asked ${request.url()}`);
  });
  return { page, context, trouble };
}

const axe = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));

/** What of a page axe looks at: what holds of the first rows of a table holds of all. */
const lookedAt = { exclude: [['tbody tr:nth-child(n+8)'], ['.stack > section:nth-child(n+5)']] };

/** In the dark only the colours, on the smallest screen everything but them. */
const rulesAt = (look: Look) => {
  if (look === 'dark') return { runOnly: ['color-contrast'] };
  return look === 'light' ? {} : { rules: { 'color-contrast': { enabled: false } } };
};

/** What is wrong with how a page is laid out, and what axe has to say against it, in short. */
export async function faultsOn(page: Page, look: Look): Promise<readonly string[]> {
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  const faults = overflow > 0 ? [`${overflow} px too wide`] : [];
  // A phone is laid out as what is narrower still, and a tablet as one or the other but for its columns.
  if (look === 'phone' || look === 'tablet') return faults;
  // Once it is in a page, it is ready for the next look.
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(readFileSync(axe, 'utf8'));
  const options = JSON.stringify({ resultTypes: ['violations'], ...rulesAt(look) });
  const violations = await page.evaluate<readonly { id: string; html: readonly string[] }[]>(`
    axe.run(${JSON.stringify(lookedAt)}, ${options}).then(({ violations }) =>
      violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html.slice(0, 160)) })))`);
  return [...faults, ...violations.map(({ id, html }) => `${id}: ${html.join(' | ')}`)];
}

/** The same in these looks, one after the other: the page is not loaded again. */
export async function faultsIn(
  page: Page,
  seen: readonly Look[],
  nameOf: (look: Look) => string,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const look of seen) {
    const { colorScheme, viewport } = looks[look];
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    faults.push(...(await faultsOn(page, look)).map((fault) => `${look}: ${fault}`));
    await shoot(page, nameOf(look));
  }
  return faults;
}

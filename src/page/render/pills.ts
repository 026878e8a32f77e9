/** Icons. Each icon has a shape of its own, and a word is shown beside it. */
import { type Html, html } from './html.ts';

const shapes = {
  tick: html`<circle cx="8" cy="8" r="6.6"/><path d="M5 8.2l2.1 2.1L11 6.2"/>`,
  alarm: html`<path d="M8 1.6 15.2 14.4H.8Z" fill="currentColor" stroke="none"/><path d="M8 6.2v3.9M8 12v.4" class="cut" stroke-width="1.7"/>`,
  pause: html`<circle cx="8" cy="8" r="6.6"/><path d="M6.5 5.8v4.4M9.5 5.8v4.4"/>`,
  clock: html`<circle cx="8" cy="8" r="6.6"/><path d="M8 4.4V8l2.6 1.6"/>`,
  half: html`<circle cx="8" cy="8" r="6.6"/><path d="M8 1.4a6.6 6.6 0 0 0 0 13.2Z" fill="currentColor" stroke="none"/>`,
  cross: html`<circle cx="8" cy="8" r="6.6"/><path d="M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4"/>`,
  copy: html`<rect x="5.2" y="1.6" width="8.8" height="10" rx="1.4"/><path d="M10.8 14.4H3.4A1.4 1.4 0 0 1 2 13V4.6"/>`,
  dashed: html`<circle cx="8" cy="8" r="6.6" stroke-dasharray="2.6 2.6"/>`,
} as const;
export type IconShape = keyof typeof shapes;

/** `ok` is green. `act` is red: a person must act. `dim` has the color of the text. */
export type Tone = 'ok' | 'act' | 'dim';

export const icon = (shape: IconShape, tone: Tone = 'dim', size = 16): Html =>
  html`<svg class="icon ${tone}" width="${size}" height="${size}" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${shapes[shape]}</svg>`;

/** An icon with words, which make its meaning clear without its color. */
export const pill = (shape: IconShape, tone: Tone, words: string | Html): Html =>
  html`<span class="${tone === 'ok' ? 'pill' : `pill ${tone}`}">${icon(shape, tone)}<span>${words}</span></span>`;

const side = (which: string, shape: Html): Html =>
  html`<svg class="side ${which}" width="8" height="8" viewBox="0 0 8 8" aria-hidden="true">${shape}</svg>`;

export const sides = {
  base: side(
    'quiet',
    html`<rect x="0.6" y="0.6" width="6.8" height="6.8" rx="1" fill="none" stroke="currentColor" stroke-width="1.2"/>`,
  ),
  mirror: side('mirror', html`<rect width="8" height="8" rx="1"/>`),
  service: side('service', html`<circle cx="4" cy="4" r="4"/>`),
} as const;

export const dot = side('ok dot', html`<circle cx="4" cy="4" r="3.5"/>`);

const ways = {
  push: [sides.mirror, '→', sides.service],
  pull: [sides.service, '→', sides.mirror],
  hold: [sides.mirror, 'ıı', sides.service],
} as const;

export function direction(way: keyof typeof ways, word: string): Html {
  const [from, arrow, into] = ways[way];
  return html`<span class="nowrap"><span aria-hidden="true">${from} ${arrow} ${into}</span> ${word}</span>`;
}

/** Icons of a shape of their own, and a word beside each. */
import { type Html, html } from './html.ts';

const shapes = {
  tick: html`<circle cx="8" cy="8" r="6.6" class="ring"/><path d="M5 8.2l2.1 2.1L11 6.2" class="ring"/>`,
  alarm: html`<path d="M8 1.6 15.2 14.4H.8Z" class="fill"/><path d="M8 6.2v3.9M8 12v.4" class="cut"/>`,
  pause: html`<circle cx="8" cy="8" r="6.6" class="ring"/><path d="M6.5 5.8v4.4M9.5 5.8v4.4" class="ring"/>`,
  clock: html`<circle cx="8" cy="8" r="6.6" class="ring"/><path d="M8 4.4V8l2.6 1.6" class="ring"/>`,
  half: html`<circle cx="8" cy="8" r="6.6" class="ring"/><path d="M8 1.4a6.6 6.6 0 0 0 0 13.2Z" class="fill"/>`,
  cross: html`<circle cx="8" cy="8" r="6.6" class="ring"/><path d="M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4" class="ring"/>`,
  copy: html`<rect x="5.2" y="1.6" width="8.8" height="10" rx="1.4" class="ring"/><path d="M10.8 14.4H3.4A1.4 1.4 0 0 1 2 13V4.6" class="ring"/>`,
  dashed: html`<circle cx="8" cy="8" r="6.6" class="ring dashes"/>`,
} as const;
export type IconShape = keyof typeof shapes;

/** Ok is green, act is red, and all else is ink. */
export type Tone = 'ok' | 'act' | 'quiet';

export const icon = (shape: IconShape, tone: Tone = 'quiet', size = 16): Html =>
  html`<svg class="icon ${tone}" width="${size}" height="${size}" viewBox="0 0 16 16" aria-hidden="true">${shapes[shape]}</svg>`;

/** A shape, a word, then colour. */
export const pill = (shape: IconShape, tone: Tone, words: string | Html): Html =>
  html`<span class="pill ${tone}">${icon(shape, tone)}<span>${words}</span></span>`;

export const sides = {
  base: html`<span class="side base" aria-hidden="true"></span>`,
  mirror: html`<span class="side mirror" aria-hidden="true"></span>`,
  service: html`<span class="side service" aria-hidden="true"></span>`,
} as const;

const ways = {
  push: [sides.mirror, '→', sides.service],
  pull: [sides.service, '→', sides.mirror],
  hold: [sides.mirror, 'ıı', sides.service],
} as const;

/** In which direction something moved, with its word. */
export function direction(way: keyof typeof ways, word: string): Html {
  const [from, arrow, into] = ways[way];
  return html`<span class="nowrap"><span class="signs" aria-hidden="true">${from}<i>${arrow}</i>${into}</span> ${word}</span>`;
}

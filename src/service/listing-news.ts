/** Reads of the pages of a listing only what is new. */
import type { KnownRows } from '../model/known-rows.ts';
import type { CompleteListing, KnownListing } from '../model/listing.ts';
import type { TakeNews } from './page.ts';
import { createRowNews, type RowNews } from './row-news.ts';
import type { Walk } from './walk.ts';

export interface NewsReader {
  readonly take: TakeNews;
  conclude<Row>(walk: Walk<Row>): Promise<Pick<CompleteListing<Row>, 'noted' | 'news'>>;
}

export function createNewsReader({ before }: KnownListing): NewsReader {
  let asked: Promise<{ readonly rows: KnownRows; readonly news: RowNews } | null> | undefined;
  const ask = () =>
    (asked ??= before().then((known) =>
      known === null ? null : { rows: known.rows, news: createRowNews(known) },
    ));
  return {
    take: async (bytes, list) => (await (await ask())?.news.take(bytes, list)) ?? null,
    conclude: async ({ collector, known: { noted } }) => {
      const known = await ask();
      if (known === null) return {};
      const absent = [...known.news.others()].filter((id) => !collector.has(id));
      const ended = known.news.ended();
      return {
        news: { same: collector.count - collector.added, absent },
        ...(noted === undefined ? {} : { noted: { ...noted, before: { rows: known.rows, ended } } }),
      };
    },
  };
}

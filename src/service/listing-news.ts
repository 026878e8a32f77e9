/** Reads of the pages of a listing only what is new. */
import type { CompleteListing, KnownListing } from '../model/listing.ts';
import type { TakeNews } from './page.ts';
import { createRowNews, type RowNews } from './row-news.ts';
import type { Walk } from './walk.ts';

export interface NewsReader {
  readonly take: TakeNews;
  conclude<Row>(walk: Walk<Row>): Promise<Pick<CompleteListing<Row>, 'news'>>;
}

export function createNewsReader({ before }: KnownListing): NewsReader {
  let asked: Promise<RowNews | null> | undefined;
  const ask = () =>
    (asked ??= before().then((rows) =>
      rows === null ? null : createRowNews({ rows, ended: new Set(), asked: new Set() }),
    ));
  return {
    take: async (bytes, list) => (await (await ask())?.take(bytes, list)) ?? null,
    conclude: async ({ collector }) => {
      const news = await ask();
      if (news === null) return {};
      const absent = [...news.others()].filter((id) => !collector.has(id));
      return { news: { same: collector.count - collector.added, absent } };
    },
  };
}

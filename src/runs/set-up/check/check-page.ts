import type { Config } from '../../../config/config.ts';
import type { Report } from './check-report.ts';

/** Checks whether the people who are to decide on the page can. With the token alone anybody may give any name. */
export function checkPage({ status, push }: Pick<Config, 'status' | 'push'>, report: Report): void {
  if (!status.decide || Object.keys(status.people).length > 0 || !push.fourEyes) return;
  report.add(
    'page',
    'note',
    'whoever gives status.token decides nothing on the page while push.fourEyes is on, since any name goes with it; with status.people the page knows who decides',
  );
}

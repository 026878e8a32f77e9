import type { Config } from '../../config/config.ts';
import type { Report } from './check-report.ts';

/** Whether those who are to decide on the page can: whoever gives the token may give any name with it. */
export function checkPage({ status, push }: Pick<Config, 'status' | 'push'>, report: Report): void {
  if (!status.decide || status.token === undefined || !push.fourEyes) return;
  report.add(
    'page',
    'note',
    'whoever gives status.token decides nothing on the page while push.fourEyes is on, since any name goes with it; with status.user the page knows who decides',
  );
}

import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { describeCallError } from '../../daemon/call-out.ts';
import { describeProbe } from '../../daemon/notice-body.ts';
import { targetsOf } from '../../daemon/tell.ts';
import { post } from '../../daemon/webhook.ts';
import { toJson } from '../../model/json.ts';
import type { Report } from '../../runs/set-up/check/check-report.ts';

/** Posts a test notice. Only a person can check whether it arrives where people will read it. */
export async function checkNotify(config: Config, signal: AbortSignal, report: Report): Promise<void> {
  const { team } = config;
  const target = targetsOf([config]).get(team);
  if (target === undefined) {
    report.add('notify.url', 'fail', 'it is not set');
    return;
  }
  const id = randomUUID();
  const body = toJson(describeProbe(id, team));
  try {
    const status = await post(target.url, { id, body, secret: target.secret, signal, nowMs: Date.now() });
    const isAccepted = status >= 200 && status <= 299;
    report.add('notify.url', isAccepted ? 'ok' : 'fail', `answered ${status} to a test`);
  } catch (error) {
    report.add('notify.url', 'fail', `a test could not be posted: ${describeCallError(error)}`);
  }
}

import type { Config } from '../../config/config.ts';
import type { Report } from './check-report.ts';

const messages = {
  false: [],
  true: ['messages, each of which waits until a person who did not write it approves it'],
  unattended: ["messages, which go out without anybody's approval (write.schedule: unattended)"],
} as const;

/** Says what may be written besides users. */
export function checkWrites({ write }: Pick<Config, 'write'>, report: Report): void {
  const allowed = [
    ...(write.tags ? ['tags, which nobody can rename or delete afterwards'] : []),
    ...messages[`${write.schedule}`],
    ...(write.conversations ? ['that conversations were read'] : []),
  ];
  const detail = allowed.length === 0 ? 'nothing but users' : `users, and by SQL also ${allowed.join('; ')}`;
  report.add('may be written', write.schedule === 'unattended' ? 'note' : 'ok', detail);
}

import type { EmulatorClock } from '../rules/emulator-clock.ts';
import { type Fault, parameter } from './faults.ts';
import type { Outgoing } from '../wire/write-answer.ts';

/** True if the fault prevents the effect of the request. */
export function preventsEffect(fault: Fault): boolean {
  if (
    fault.kind === 'status' ||
    fault.kind === 'html' ||
    fault.kind === 'garbage' ||
    fault.kind === 'stall'
  ) {
    return parameter(fault, 'effect') === 'none';
  }
  return fault.kind === 'too-many-requests' || fault.kind === 'redirect' || fault.kind === 'reset-before';
}

export function replaceAnswer(faults: readonly Fault[], outgoing: Outgoing, clock: EmulatorClock): Outgoing {
  for (const fault of faults) {
    const replaced = replacement(fault, clock);
    if (replaced !== undefined) return replaced;
  }
  return outgoing;
}

function replacement(fault: Fault, clock: EmulatorClock): Outgoing | undefined {
  if (fault.kind === 'too-many-requests') {
    return json(429, 'too many requests', retryAfter(parameter(fault, 'retry-after'), clock));
  }
  if (fault.kind === 'status') return json(parameter(fault, 'code'), parameter(fault, 'label'));
  if (fault.kind === 'redirect') {
    return json(parameter(fault, 'code'), 'moved', { location: parameter(fault, 'location') });
  }
  if (fault.kind === 'html') {
    return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, text: page };
  }
  if (fault.kind === 'garbage') return { ...json(200, ''), text: '[{"id":1,"tag":"half a ro' };
  return fault.kind === 'late' && parameter(fault, 'answer') === '504' ? json(504, 'error') : undefined;
}

const page = '<!doctype html><html><head><title>Sign in</title></head><body><h1>Welcome</h1></body></html>\n';

function json(status: number, label: string, headers: Readonly<Record<string, string>> = {}): Outgoing {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    text: JSON.stringify(label),
  };
}

function retryAfter(given: string, clock: EmulatorClock): Record<string, string> {
  if (given === 'absent') return {};
  const [, ahead] = /^date:(-?\d+)$/.exec(given) ?? [];
  const at = ahead === undefined ? given : new Date(clock.now() + Number(ahead) * 1000).toUTCString();
  return { 'retry-after': at };
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunks } from '../../src/reconcile/chunks.ts';
import { createFindings, type RunEvent } from '../../src/reconcile/run-notes.ts';

describe('createFindings', () => {
  it('says each reason and each warning once, in the order in which they came up', () => {
    const events: RunEvent[] = [];
    const findings = createFindings((event) => events.push(event));
    findings.partial('tags: cut off');
    findings.warn('2 members');
    findings.partial('users: cut off');
    findings.partial('tags: cut off');
    findings.warn('2 members');
    expect(findings.reasons).toEqual(['tags: cut off', 'users: cut off']);
    expect(findings.warnings).toEqual(['2 members']);
    expect(events).toEqual([
      { kind: 'partial', reason: 'tags: cut off' },
      { kind: 'warning', text: '2 members' },
      { kind: 'partial', reason: 'users: cut off' },
    ]);
  });

  it('adds counts up and has none for what did not happen', () => {
    const findings = createFindings();
    findings.count('pulled');
    findings.count('pulled', 2);
    findings.count('held', 0);
    expect(findings.counts).toEqual({ pulled: 3 });
  });

  it('keeps the request ids that there are, and passes every other event on', () => {
    const events: RunEvent[] = [];
    const findings = createFindings((event) => events.push(event));
    findings.requestId('a');
    findings.requestId(null);
    findings.requestId('b');
    findings.event({ kind: 'step', step: 'users' });
    expect(findings.requestIds).toEqual(['a', 'b']);
    expect(events).toEqual([{ kind: 'step', step: 'users' }]);
  });
});

describe('chunks', () => {
  it.each([
    [0, 3, []],
    [1, 3, [1]],
    [2, 3, [2]],
    [3, 3, [3]],
    [4, 3, [3, 1]],
    [6, 3, [3, 3]],
    [3, 1, [1, 1, 1]],
    [3, 100, [3]],
  ])('cuts %i by %i into %j', (length, size, lengths) => {
    expect(chunks(Array.from({ length }), size).map((chunk) => chunk.length)).toEqual(lengths);
  });

  it('loses nothing and changes no order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 9 }), (list, size) => {
        const cut = chunks(list, size);
        expect(cut.flat()).toEqual(list);
        expect(cut.every((chunk) => chunk.length > 0 && chunk.length <= size)).toBe(true);
        expect(cut.slice(0, -1).every((chunk) => chunk.length === size)).toBe(true);
      }),
    );
  });
});

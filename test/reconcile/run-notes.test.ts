import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunks } from '../../src/reconcile/chunks.ts';
import { createRunNotes, type RunEvent } from '../../src/reconcile/run-notes.ts';

describe('createRunNotes', () => {
  it('reports each reason and each warning once, in the order of their first appearance', () => {
    const events: RunEvent[] = [];
    const notes = createRunNotes((event) => events.push(event));
    notes.partial('tags: cut off');
    notes.warn('2 members');
    notes.partial('users: cut off');
    notes.partial('tags: cut off');
    notes.warn('2 members');
    expect(notes.reasons).toEqual(['tags: cut off', 'users: cut off']);
    expect(notes.warnings).toEqual(['2 members']);
    expect(events).toEqual([
      { kind: 'partial', reason: 'tags: cut off' },
      { kind: 'warning', text: '2 members' },
      { kind: 'partial', reason: 'users: cut off' },
    ]);
  });

  it('adds up all counts of one name, and leaves out a count of zero', () => {
    const notes = createRunNotes();
    notes.count('pulled');
    notes.count('pulled', 2);
    notes.count('held', 0);
    expect(notes.counts).toEqual({ pulled: 3 });
  });

  it('collects all request ids except null, and reports a step as an event', () => {
    const events: RunEvent[] = [];
    const notes = createRunNotes((event) => events.push(event));
    notes.requestId('a');
    notes.requestId(null);
    notes.requestId('b');
    notes.event({ kind: 'step', step: 'users' });
    expect(notes.requestIds).toEqual(['a', 'b']);
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
  ])('cuts %i items into chunks of at most %i: %j', (length, size, lengths) => {
    expect(chunks(Array.from({ length }), size).map((chunk) => chunk.length)).toEqual(lengths);
  });

  it('returns all items in their order, and fills all chunks but the last', () => {
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

/** The findings of a comparison of the two sides. */
import type { Id } from '../model/id.ts';

/** A value of a column, which can be a list or an object. */
export type Value = unknown;

/** `expected`: an edit, an open push or a hold explains the difference. `drift`: nothing explains it. */
export type Judgement = 'expected' | 'drift';

/** One field of one row that differs between the sides. */
export interface Difference {
  /** `team`, `users`, or the name of a listed resource. */
  readonly resource: string;
  readonly id: Id;
  readonly name: string;
  readonly field: string;
  readonly mirror: Value;
  readonly service: Value;
  readonly judgement: Judgement;
  readonly because: string | null;
}

/** A row that only one side has. */
export interface OneSided {
  /** `team`, `users`, or the name of a listed resource. */
  readonly resource: string;
  readonly id: Id;
  readonly name: string;
  readonly side: 'mirror' | 'service';
  readonly judgement: Judgement;
  readonly because: string | null;
}

/** An address that several users of one side have, or an id that one answer repeats. Neither counts as drift. */
export interface Duplicate {
  readonly resource: string;
  readonly field: 'id' | 'email' | 'phone';
  readonly value: string;
  readonly ids: readonly Id[];
  readonly side: 'mirror' | 'service';
}

export interface Differences {
  readonly differences: readonly Difference[];
  readonly oneSided: readonly OneSided[];
}

/**
 * What people have agreed to. An edit is one field of one user that the mirror has other than the base, from the
 * statement that made it so until both agree again; a decision is about an edit, over what was seen of the service.
 * Knows nothing of the program: it is told what people do, what the service shows to a run, and what SQL shows.
 */
export type Field = 'name' | 'email' | 'phone' | 'role_id';
type Key = `${number} ${Field}`;
type At = { readonly user: number; readonly field: Field };
type Seen = Readonly<Record<Field, string>>;

/** What SQL shows of one field. */
export interface Fact extends At {
  readonly mirror: string;
  readonly base: string;
  /** The service's value as a run last recorded it. */
  readonly shown: string;
  /** A push of it has no outcome yet. */
  readonly isOpen: boolean;
  /** Why it is held, over what, and the name under which this edit waits; empty: it does not. */
  readonly reason: string;
  readonly over: string;
  readonly batch: string;
}

/** Who decides: all names of them. */
export type Somebody = { readonly names: readonly string[]; readonly mayEdit: boolean };

export interface Edit extends At {
  readonly id: number;
  readonly value: string;
  readonly by: string;
  /** Who made it and those that it replaced, in one spelling. */
  readonly authors: readonly string[];
  isStopped?: boolean;
  isRejected?: boolean;
  /** It may be under way; or void, and the service as it was again. */
  isUnsure?: boolean;
  /** Somebody else agreed at some time; and over what. */
  wasAgreed?: boolean;
  agreed?: string;
}

export const keyOf = ({ user, field }: At): Key => `${user} ${field}`;
const unseen = /\p{Default_Ignorable_Code_Point}|\p{Cf}/gu;
/** One spelling of a person's name. */
const spelled = (name: string): string =>
  name.replace(unseen, '').normalize('NFKC').toUpperCase().toLowerCase().replace(/\s+/gu, ' ').trim();
const isOwn = ({ authors }: Edit, { names, mayEdit }: Somebody) =>
  names.some((name) => authors.includes(spelled(name))) || (mayEdit && authors.includes(''));

/** @param isReviewed every edit is seen first */
export function createAgreement(isReviewed: boolean) {
  let edits = new Map<Key, Edit>();
  let facts = new Map<Key, Fact>();
  /** By user: what the service showed last. */
  let seen = new Map<number, Seen>();
  /** What a name of a batch stood for when it was first shown. */
  const batches = new Map<string, ReadonlyMap<Key, number | undefined>>();
  let number = 0;
  const editsOf = (id: number) => [...edits.values()].filter(({ user }) => user === id);
  const isAgreed = ({ user, field, agreed }: Edit) =>
    agreed !== undefined && agreed === seen.get(user)?.[field];
  return {
    edits: () => edits,
    /** What SQL shows now. @returns what cannot be */
    look(now: readonly Fact[]): readonly string[] {
      facts = new Map(now.map((fact) => [keyOf(fact), fact]));
      for (const [batch, rows] of Map.groupBy(now, (fact) => fact.batch))
        if (!batches.has(batch))
          batches.set(batch, new Map(rows.map((row) => [keyOf(row), edits.get(keyOf(row))?.id])));
      return now.flatMap(({ mirror, base, isOpen, batch, reason, ...at }) => {
        const edit = edits.get(keyOf(at));
        const isEqual = mirror === base && !isOpen;
        if (isEqual) edits.delete(keyOf(at));
        if (edit === undefined) return isEqual || isOpen ? [] : [`${keyOf(at)}: nobody made it ${mirror}`];
        if (edit.value !== mirror) return [`${keyOf(at)}: ${edit.value} was lost to ${mirror}`];
        if (batch !== '' && (reason === 'limit' || reason === 'review')) edit.isStopped = true;
        const isOther = batch !== '' && batches.get(batch)?.get(keyOf(at)) !== edit.id;
        return isOther ? [`${keyOf(at)}: ${batch} named another edit`] : [];
      });
    },
    /** Somebody has given the field this value; without a name, nobody knows who. */
    edited(names: readonly string[], key: Key, value: string, base = facts.get(key)?.base): void {
      const [before, fact] = [edits.get(key), facts.get(key)];
      if (fact === undefined || fact.mirror === value) return;
      if (value === base && !fact.isOpen) return void edits.delete(key);
      const authors = [...(before?.authors ?? []), ...(names.length > 0 ? names.map(spelled) : [''])];
      const { user, field } = fact;
      edits.set(key, { user, field, id: ++number, value, by: names[0] ?? '', authors });
    },
    /** The service has shown this user to a run. */
    answered(user: number, values: Seen): void {
      seen.set(user, values);
    },
    /** Our update has had its effect, and its answer was lost. */
    lost(user: number): void {
      for (const edit of editsOf(user)) edit.isUnsure = true;
    },
    /** @param batch the name under which it was shown; alone otherwise @returns whether they may agree to this edit */
    agreed(who: Somebody, key: Key, batch?: string): boolean {
      const [edit, fact] = [edits.get(key), facts.get(key)];
      if (edit === undefined || fact === undefined || isOwn(edit, who)) return false;
      if (batch !== undefined && batches.get(batch)?.get(key) !== edit.id) return false;
      edit.wasAgreed = true;
      edit.agreed = batch === undefined ? fact.shown : fact.over;
      if (batch === undefined) Object.assign(edit, { isRejected: false, isUnsure: false });
      return true;
    },
    /** @returns why the service must not be sent this; `undefined`: it may */
    forbids(key: Key, value: string): string | undefined {
      const [edit, fact] = [edits.get(key), facts.get(key)];
      if (edit?.value !== value || fact === undefined) return `no edit of ${key} to ${value} lasts`;
      if (edit.isRejected === true) return `${key} ${value} was rejected`;
      if (isAgreed(edit)) return undefined;
      if (isReviewed) return `nobody else agreed to ${key} ${value} over what is seen`;
      if (edit.isStopped === true && edit.wasAgreed !== true) return `${key} ${value} was stopped`;
      if (seen.get(fact.user)?.[fact.field] !== fact.base) return `${key} ${value} overwrites a change`;
      return undefined;
    },
    /** Whether it needs nothing more to be sent. */
    mayGo: (edit: Edit) => isAgreed(edit) && edit.isRejected !== true && edit.isUnsure !== true,
    /** What a copy of the mirror knows. @returns puts it back */
    copy(): () => void {
      const kept = structuredClone({ edits, facts, seen });
      return () => {
        ({ edits, facts, seen } = structuredClone(kept));
      };
    },
  };
}

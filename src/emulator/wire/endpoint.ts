import type { z } from 'zod';
import type { EmulatorClock } from '../rules/emulator-clock.ts';
import type { PlayedTeam } from '../rules/played-team.ts';
import type { Variants } from '../faults/variants.ts';

type EndpointMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A status and the value that is written as its JSON body. */
export interface EndpointAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The reason why the status is not 200, for the request log and the header X-Emulator-Reason. */
  readonly why?: string;
}

export interface EndpointCall {
  readonly team: PlayedTeam;
  readonly variants: Variants;
  readonly clock: EmulatorClock;
  /** The integer in the path; NaN if the path has no integer for `{id}`. */
  readonly id: number;
  /** True if the listings show the row with this id. Faults hide some rows. */
  readonly shown: (id: number) => boolean;
}

/** One line of the interface's endpoint table. */
export interface Endpoint {
  readonly method: EndpointMethod;
  /** The path in the interface's notation, `/v1/tag/{id}`. */
  readonly path: string;
  readonly summary: string;
  /** Schema of the body. Endpoints without a schema ignore the body. */
  readonly request?: z.ZodType;
  readonly bodyRequired: boolean;
  /** True if the endpoint changes something. Listings are reads, although their method is POST. */
  readonly writes: boolean;
  readonly response: z.ZodType;
  /** The label of the endpoint's 400 answers (interface.md, Errors). */
  readonly label: 'bad_data' | 'error';
  readonly answer: (call: EndpointCall, body: unknown) => EndpointAnswer;
}

export function ok(body: unknown): EndpointAnswer {
  return { status: 200, body };
}

export function refused(why: string, label: Endpoint['label'] = 'error'): EndpointAnswer {
  return { status: 400, body: label, why };
}

export function notFound(why: string): EndpointAnswer {
  return { status: 404, body: 'not found', why };
}

interface EndpointDescription {
  readonly method: EndpointMethod;
  readonly path: string;
  readonly summary: string;
  readonly response: z.ZodType;
  readonly writes?: boolean;
  readonly label?: Endpoint['label'];
}

/** An endpoint that reads no body. */
export function plainEndpoint(
  described: EndpointDescription,
  answer: (call: EndpointCall) => EndpointAnswer,
): Endpoint {
  return { label: 'error', bodyRequired: false, writes: false, ...described, answer };
}

/** An endpoint whose body is checked before `answer` gets it. A body that does not fit the schema gets a 400. */
export function bodyEndpoint<S extends z.ZodType>(
  described: EndpointDescription & {
    readonly request: S;
    readonly bodyRequired?: boolean;
    /** True if a null means the same as leaving the key out. */
    readonly dropsNulls?: boolean;
  },
  answer: (call: EndpointCall, body: z.infer<S>) => EndpointAnswer,
): Endpoint {
  const { dropsNulls = false, ...rest } = described;
  return {
    label: 'error',
    bodyRequired: true,
    writes: false,
    ...rest,
    answer: (call, body) => {
      const checked = described.request.safeParse(dropsNulls ? withoutNulls(body) : body);
      if (checked.success) return answer(call, checked.data);
      const [issue] = checked.error.issues;
      return refused(`${issue?.path.join('.') || 'body'}: ${issue?.message}`, described.label);
    },
  };
}

function withoutNulls(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

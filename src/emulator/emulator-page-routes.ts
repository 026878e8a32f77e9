import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { admits, type Control } from './control-routes.ts';
import { renderEmulatorPage, renderEmulatorRefusal } from './emulator-page.ts';
import { emulatorPageStyle } from './emulator-page-style.ts';
import { parseFaults } from './faults.ts';
import { parseVariants, variantNames } from './variants.ts';

type FormAct = (control: Control, fields: URLSearchParams) => void;

/** The acts of the page's forms, by the value of their field `act`. */
const formActs: Readonly<Record<string, FormAct>> = {
  'fault-on': ({ world }, fields) => {
    const settings = (fields.get('settings') ?? '').trim();
    const text = [fields.get('kind') ?? '', ...(settings === '' ? [] : [settings])].join(',');
    for (const fault of parseFaults([text])) world.faults.add(fault);
  },
  'fault-off': ({ world }, fields) => world.faults.remove(Number(fields.get('number'))),
  variants: ({ world }, fields) => {
    const given = variantNames.filter((name) => fields.has(name));
    const changed = parseVariants(given.map((name) => `${name}=${fields.get(name)}`));
    world.variants = { ...world.variants, ...changed };
  },
};

const styleHash = createHash('sha256').update(emulatorPageStyle).digest('base64');
const headers = {
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  // Without a referrer, a browser would not say where a form comes from.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** A page for people, at the address of the control endpoint and with its rules. It works without a script. */
export function addEmulatorPage(app: FastifyInstance, control: Control): void {
  app.get('/_emulator', (request, reply) => {
    if (!admitsPerson(control, request)) return refuse(control, reply);
    const { every } = request.query as { readonly every?: string };
    const everyS = /^\d{1,3}$/.test(String(every)) ? Number(every) : 0;
    return send(reply, 200, renderEmulatorPage(control, everyS));
  });
  app.post('/_emulator/form', (request, reply) => {
    if (!admitsPerson(control, request)) return refuse(control, reply);
    if (request.headers.origin !== `${request.protocol}://${request.headers.host}`)
      return send(reply, 403, renderEmulatorRefusal('Only the emulator’s own page can do this.'));
    const fields = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
    try {
      const act = Object.entries(formActs).find(([name]) => name === fields.get('act'))?.[1];
      if (act === undefined) throw new Error('There is no such button.');
      act(control, fields);
    } catch (error) {
      return send(reply, 400, renderEmulatorRefusal(error instanceof Error ? error.message : String(error)));
    }
    return reply.headers(headers).redirect('/_emulator', 303);
  });
}

/** A browser asks a person for the token, and sends it as the password of any name. */
function admitsPerson(control: Control, request: FastifyRequest): boolean {
  const [, basic] = /^Basic +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (basic === undefined) return admits(control, request);
  const password = Buffer.from(basic, 'base64').toString().split(':').slice(1).join(':');
  return admits(control, request, `Bearer ${password}`);
}

function refuse(control: Control, reply: FastifyReply): FastifyReply {
  if (control.token !== undefined) reply.header('www-authenticate', 'Basic realm="emulator"');
  const status = control.token === undefined ? 403 : 401;
  return send(reply, status, renderEmulatorRefusal('The control endpoint is not yours.'));
}

function send(reply: FastifyReply, status: number, html: string): FastifyReply {
  return reply.code(status).headers(headers).type('text/html; charset=utf-8').send(html);
}

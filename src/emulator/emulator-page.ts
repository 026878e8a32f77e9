import type { Control } from './control-routes.ts';
import type { NumberedFault } from './fault-box.ts';
import { describeFault, faultKinds, faultSettings, faultTable, type FaultKind } from './faults.ts';
import { emulatorPageStyle } from './emulator-page-style.ts';
import { type Markup, markup } from './markup.ts';
import { answersKept, type LoggedRequest, oddityOf } from './request-log.ts';
import type { TeamControl } from './team-control.ts';
import { variantNames, variantTable, type VariantName, variantValues } from './variants.ts';

/** @param everyS the seconds after which the page is loaded again; 0 for never */
export function renderEmulatorPage({ world, teams }: Control, everyS: number): string {
  const { clock, faults, log, variants } = world;
  const fields = variantNames.map((name) => variantField(name, variants[name]));
  const body = markup`
    <h1>Emulator</h1>
    <p>The service’s clock says <time>${new Date(clock.now()).toISOString()}</time>.
      <a href="/_emulator">Load again</a>, ${everyS === 0 ? markup`or <a href="/_emulator?every=5">every 5 seconds</a>` : `and again every ${everyS} s`}.
      <a href="/openapi.json">OpenAPI document</a></p>
    <section aria-labelledby="teams"><h2 id="teams">Teams</h2>
      ${table(['Team', 'Users', 'Tags', 'Messages waiting', 'Delivered', 'API Secrets'], teams.map(teamRow))}
    </section>
    <section aria-labelledby="requests"><h2 id="requests">Requests</h2>
      <p class="dim">The newest first, ${Math.min(answersKept, log.requests.length)} of ${log.requests.length}.</p>
      ${table(['No.', 'Request', 'Answer', 'Reason', 'Bodies'], log.requests.slice(-answersKept).reverse().map(requestRow))}
    </section>
    <section aria-labelledby="faults"><h2 id="faults">Faults</h2>
      <p class="dim">Settings as in <code>code=502,path=/v1/tags,at=3,times=2</code>.</p>
      ${table(
        ['Fault', 'Switched on', 'Settings'],
        faultKinds.map((kind) => faultRow(kind, faults.installed())),
      )}
    </section>
    <section aria-labelledby="variants"><h2 id="variants">Variants</h2>
      ${form('variants', markup`${fields} <button>Set them</button>`)}
    </section>`;
  return page(body, everyS);
}

/** A page that says why an order was not carried out. */
export function renderEmulatorRefusal(why: string): string {
  return page(markup`<h1>Emulator</h1><p class="act">${why}</p><p><a href="/_emulator">Back</a></p>`, 0);
}

function page(body: Markup, everyS: number): string {
  const again = everyS === 0 ? '' : markup`<meta http-equiv="refresh" content="${everyS}">`;
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${again}
<title>Emulator</title><style>${{ html: emulatorPageStyle }}</style></head><body><main>${body}</main></body></html>
`.html;
}

function table(heads: readonly string[], rows: readonly Markup[]): Markup {
  return markup`<table><thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table>`;
}

function form(act: string, fields: Markup): Markup {
  return markup`<form method="post" action="/_emulator/form"><input type="hidden" name="act" value="${act}">${fields}</form>`;
}

function teamRow(team: TeamControl): Markup {
  const waiting = team.schedules().filter(({ state }) => state === 'waiting');
  return markup`<tr><td>${team.id} ${team.name()}</td><td>${team.users().length}</td><td>${team.tags().length}</td>
    <td>${waiting.length}</td><td>${team.deliveries().length}</td>
    <td><code>${team.environment['MUSTERD_SECRET_ID'] ?? 'none'}</code></td></tr>`;
}

function requestRow(request: LoggedRequest): Markup {
  const { number, method, path, query, team, status, body, answer } = request;
  const sent = body === undefined ? 'none' : typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  return markup`<tr><td>${number}</td>
    <td><code>${method} ${path}${query === '' ? '' : `?${query}`}</code> <span class="dim">${team === undefined ? 'nobody' : `team ${team}`}</span></td>
    <td>${status ?? 'none'}</td><td class="act">${oddityOf(request) ?? ''}</td>
    <td><details><summary>Show</summary><pre>${sent.slice(0, 2000)}</pre><pre>${answer ?? 'no answer'}</pre></details></td></tr>`;
}

function faultRow(kind: FaultKind, installed: readonly NumberedFault[]): Markup {
  const on = installed.filter(({ fault }) => fault.kind === kind);
  const switches = on.map(({ number, fault, played }) =>
    form(
      'fault-off',
      markup`<input type="hidden" name="number" value="${number}"><code>${describeFault(fault)}</code>
      <span class="dim">played: ${played}</span><button>Switch off</button>`,
    ),
  );
  const fields = markup`<input type="hidden" name="kind" value="${kind}">
    <input name="settings" aria-label="Settings of ${kind}" placeholder="${faultSettings(kind)}"><button>Switch on</button>`;
  return markup`<tr><th scope="row">${kind}<p class="dim">${faultTable[kind].plays}</p></th>
    <td>${switches}</td><td>${form('fault-on', fields)}</td></tr>`;
}

function variantField(name: VariantName, value: string | number): Markup {
  const { values, number, plays } = variantTable[name];
  const field = number
    ? markup`<input name="${name}" value="${value}" placeholder="${variantValues(name)}">`
    : markup`<select name="${name}">${values.map(
        (one) => markup`<option${one === value ? markup` selected` : ''}>${one}</option>`,
      )}</select>`;
  return markup`<label title="${plays}">${name} ${field}</label>`;
}

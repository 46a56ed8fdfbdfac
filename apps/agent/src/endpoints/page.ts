import type { ProvisioningAttempt, ProvisioningView } from '../network/endpoints/provisioning-view.ts';
import { canJoin, pickOf } from './entered.ts';
import { html, type Html } from './html.ts';
import { attemptText } from './attempt-text.ts';

/** What the page shows besides the view. */
export interface PageState {
  token: string;
  /** Why the last input was refused; for users. Empty: it was not. */
  problem: string;
  /** SSID that was just handed to the agent, which does not report it yet; undefined: none. */
  pending: string | undefined;
}

const mostNetworks = 64;
const networkLimits = { ssid: 32, password: 64 };

export function page(view: ProvisioningView, state: PageState): Html {
  const at = view.at === 'waiting' && state.pending !== undefined ? 'trying' : view.at;
  const name = view.hostname === '' ? 'this device' : view.hostname;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Set up ${name}</title>
        <link rel="stylesheet" href="/portal.css" />
        ${at === 'trying' ? html`<noscript><meta http-equiv="refresh" content="5; url=/" /></noscript>` : undefined}
        <script src="/portal.js" defer></script>
      </head>
      <body>
        <main data-at="${at}">
          <header>
            <h1>Set up <bdi>${name}</bdi></h1>
            <p class="about"><bdi>${view.manufacturer}</bdi> <bdi>${view.model}</bdi></p>
          </header>
          <div id="status" aria-live="polite">${status(view, at, state)}</div>
          <div id="away" class="note" hidden>
            <b>Waiting for the device</b>
            <p>
              Your phone is not connected to the device. If its hotspot is back and the phone has not joined it, join it
              again: this page then shows the result.
            </p>
          </div>
          ${at === 'waiting' ? form(view, state) : undefined} ${details(view)}
        </main>
      </body>
    </html> `;
}

function status(view: ProvisioningView, at: ProvisioningView['at'], { problem, pending }: PageState): Html | undefined {
  const ssid = (view.at === 'trying' ? view.lastAttempt?.ssid : pending) ?? '';
  if (at === 'trying') return trying(ssid);
  if (at === 'done') return done(view);
  if (problem !== '') return note('bad', html`The details were not accepted`, problem);
  const attempt = failedAttempt(view);
  if (attempt) {
    const { what, ssid: network, todo } = attemptText(attempt);
    return note('bad', html`${what} <bdi>${network}</bdi>`, todo);
  }
  if (!view.hasCredentials && view.credentialsProblem !== undefined)
    return note('bad', html`The device has no working credentials yet`, view.credentialsProblem);
  if (view.isOnline) return note('good', online(view), view.hasCredentials ? changeAdvice : credentialsAdvice);
  return undefined;
}

/** The last network that a user entered, if it failed; else the known one that failed. */
function failedAttempt({ lastAttempt, knownFailure }: ProvisioningView): ProvisioningAttempt | undefined {
  const hasFailed = lastAttempt && lastAttempt.result !== 'ok' && lastAttempt.result !== 'trying';
  return hasFailed ? lastAttempt : knownFailure;
}

const note = (kind: 'good' | 'bad' | 'busy', title: Html, text: string): Html =>
  html`<div class="note ${kind}" ${kind === 'bad' ? html` role="alert"` : undefined}>
    <b>${title}</b>
    <p>${text}</p>
  </div>`;

const trying = (ssid: string): Html =>
  note(
    'busy',
    ssid === '' ? html`The device is connecting` : html`The device is joining <bdi>${ssid}</bdi>`,
    'This takes up to a minute. The hotspot turns off during this time and your phone may disconnect. If the device connects, you are done. If not, the hotspot comes back: join it again, and this page shows what went wrong.',
  );

const online = ({ connectedTo }: ProvisioningView): Html =>
  connectedTo === '' ? html`The device is online` : html`The device is online through <bdi>${connectedTo}</bdi>`;

const done = (view: ProvisioningView): Html =>
  note('good', online(view), 'You are done. Reconnect your phone to its usual network.');

const changeAdvice = 'You can choose another WiFi network.';
const credentialsAdvice = 'It still needs its credentials. A WiFi network is optional.';

function form(view: ProvisioningView, { token }: PageState): Html {
  return html`<form method="post" action="/save" autocomplete="off">
    <input type="hidden" name="token" value="${token}" />
    <fieldset>
      <legend>WiFi network</legend>
      <div id="networks">${networks(view)}</div>
      <label class="network"
        ><input
          type="radio"
          name="pick"
          value=""
          id="other"
          ${view.networks.length === 0 ? html` checked` : undefined}
        /><span>Another or hidden network</span></label
      >
      <label class="typed"
        >Network name<input type="text" name="ssid" maxlength="${networkLimits.ssid}" ${noCorrection}
      /></label>
    </fieldset>
    <label
      >WiFi password<span class="row"
        ><input type="password" name="password" id="password" maxlength="${networkLimits.password}" ${noCorrection} />
        <button type="button" id="show" class="quiet" aria-pressed="false" hidden>Show</button></span
      >
      <small>Leave it empty for a network without a password.</small></label
    >
    ${view.hasCredentials ? undefined : credentials}
    <button type="submit">Connect</button>
  </form>`;
}

const noCorrection = html`autocapitalize="none" autocorrect="off" spellcheck="false" autocomplete="off"`;

const credentials = html`<label
  >Device credentials<textarea name="platformconfig" rows="4" ${noCorrection}></textarea>
  <small
    >Type the set-up code with its server, such as ABCD-EFGH@fleet.example, or paste the credentials file. The
    management app shows both when you add a device.</small
  ></label
>`;

function networks(view: ProvisioningView): Html {
  const shown = view.networks.slice(0, mostNetworks);
  if (shown.length === 0) return html`<p class="none">No networks found. <a href="/">Scan again</a></p>`;
  const failed = failedAttempt(view)?.ssid; // corrected by another try
  return html`${shown.map((network) => row(network, network.ssid === failed))}
    <p class="again"><a href="/">Refresh the list</a></p>`;
}

type Network = ProvisioningView['networks'][number];

function row({ ssid, security, signalPercent }: Network, isChosen: boolean): Html {
  const isJoinable = canJoin(security);
  const needsPassword = security !== 'open' && security !== 'owe';
  return html`<label class="network"
    ><input
      type="radio"
      name="pick"
      value="${pickOf(ssid)}"
      ${isJoinable ? (isChosen ? html` checked` : undefined) : html` disabled`}
    /><span><bdi>${ssid}</bdi>${isJoinable ? undefined : html`<small>needs more than a password</small>`}</span
    >${needsPassword ? lock : undefined}${bars(signalPercent)}</label
  >`;
}

const lock = html`<svg class="lock" viewBox="0 0 16 16" role="img" aria-label="needs a password">
  <path d="M4 7V5a4 4 0 0 1 8 0v2h1v8H3V7zm2 0h4V5a2 2 0 0 0-4 0z" />
</svg>`;

function bars(percent: number): Html {
  const strength = Math.min(4, Math.max(1, Math.ceil(percent / 25)));
  return html`<svg class="bars s${strength}" viewBox="0 0 20 16" role="img" aria-label="signal ${strength} of 4">
    <path d="M1 12h3v4H1z" />
    <path d="M6 8h3v8H6z" />
    <path d="M11 4h3v12h-3z" />
    <path d="M16 0h3v16h-3z" />
  </svg>`;
}

function details({ manufacturer, model, fragmentId, hostname, agentVersion }: ProvisioningView): Html {
  const rows = Object.entries({
    Manufacturer: manufacturer,
    Model: model,
    'Fragment ID': fragmentId,
    Hostname: hostname,
    Agent: agentVersion,
  }).filter(([, value]) => value !== '');
  return html`<details>
    <summary>About this device</summary>
    <dl>
      ${rows.map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd><bdi>${value}</bdi></dd>`,
      )}
    </dl>
  </details>`;
}

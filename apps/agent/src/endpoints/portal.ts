import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '@platform/kit';
import type { ProvisioningView } from '../network/endpoints/provisioning-view.ts';
import { readEntered } from './entered.ts';
import { html } from './html.ts';
import type { Answer, Handler, Request } from './http-connection.ts';
import type { AgentPipe } from './agent-pipe.ts';
import { page, type PageState } from './page.ts';
import { script } from './script.ts';
import { style } from './style.ts';
import { isUtf8 } from 'node:buffer';
import type { Head } from './http-head.ts';

// Operating systems ask a known name for a known answer as soon as they join a network. Every name leads to this device,
// so the request arrives here. Any other answer than the known one makes them show a sign-in page. A redirect is the
// answer that all of them follow, and the only one that takes the browser to the address of the portal, which its cookies
// and its Origin header then name.

/** Hosts and paths of these requests, for the tests: the host alone decides. */
export const probes: readonly { by: string; host: string; path: string }[] = [
  { by: 'Android', host: 'connectivitycheck.gstatic.com', path: '/generate_204' },
  { by: 'Android', host: 'www.google.com', path: '/gen_204' },
  { by: 'iOS, macOS', host: 'captive.apple.com', path: '/hotspot-detect.html' },
  { by: 'iOS, macOS', host: 'www.apple.com', path: '/library/test/success.html' },
  { by: 'Windows', host: 'www.msftconnecttest.com', path: '/connecttest.txt' },
  { by: 'Windows', host: 'www.msftconnecttest.com', path: '/redirect' },
  { by: 'Windows', host: 'www.msftncsi.com', path: '/ncsi.txt' },
  { by: 'Firefox', host: 'detectportal.firefox.com', path: '/canonical.html' },
  { by: 'Firefox', host: 'detectportal.firefox.com', path: '/success.txt?ipv4' },
  { by: 'NetworkManager', host: 'network-test.debian.org', path: '/nm' },
  { by: 'NetworkManager', host: 'connectivity-check.ubuntu.com', path: '/' },
  { by: 'NetworkManager', host: 'nmcheck.gnome.org', path: '/check_network_status.txt' },
  { by: 'a user', host: 'device.setup', path: '/' },
];

/** Whether the request names the portal by its address. Another name may be one that a web page made point here. */
const isForPortal = ({ host }: Pick<Head, 'host'>, address: string, port: number): boolean =>
  host === authorityOf(address, port) || host === `${address}:${port}`;

const authorityOf = (address: string, port: number): string => (port === 80 ? address : `${address}:${port}`);

const mostFields = 32;

/** Fields of an application/x-www-form-urlencoded body; the first of a name counts. Undefined: it is not such a body. */
function parseForm(body: Buffer): ReadonlyMap<string, string> | undefined {
  if (!isUtf8(body)) return undefined;
  const fields = new Map<string, string>();
  try {
    for (const pair of body.toString('utf8').split('&', mostFields)) {
      const [name = '', ...value] = pair.split('=').map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
      if (!fields.has(name)) fields.set(name, value.join('='));
    }
  } catch {
    return undefined; // percent-encoded bytes in another encoding
  }
  return fields;
}

/** The agent needs a moment to report that it joins what was entered. */
const pendingMs = 15_000;

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin', // not no-referrer, which makes the browser send "Origin: null"
};
const assetHeaders = { 'x-content-type-options': 'nosniff' };
const plain = (status: number, body: string): Answer => ({ status, body });

interface PortalParts {
  pipe: AgentPipe;
  address: string;
  /** Part of the URL unless it is 80. */
  port: number;
  /** In each form; a page of another website does not know it. */
  token: string;
  clock: Clock;
}

/** The captive portal: from requests to answers. */
export function portal(parts: PortalParts): Handler {
  const { address, port } = parts;
  const home = `http://${authorityOf(address, port)}/`;
  const memory: Memory = { problem: '', sent: undefined };
  return async (request) => {
    if (!isForPortal(request, address, port)) {
      return request.method === 'POST' ? plain(403, `This device is at ${home}\n`) : toPortal(home);
    }
    if (request.method === 'POST') return post(request, parts, memory, home);
    switch (request.path) {
      case '/portal.css':
        return { status: 200, headers: { ...assetHeaders, 'content-type': 'text/css; charset=utf-8' }, body: style };
      case '/portal.js':
        return {
          status: 200,
          headers: { ...assetHeaders, 'content-type': 'text/javascript; charset=utf-8' },
          body: script,
        };
      case '/favicon.ico':
        return plain(404, '');
      case '/':
        return showPage(parts, memory);
      default:
        return toPortal(home); // probes by address, and addresses that a user typed
    }
  };
}

interface Memory {
  /** Why the last input was refused; empty: it was not. */
  problem: string;
  /** What was handed to the agent last. */
  sent: { ssid: string; before: ProvisioningView['lastAttempt']; until: number } | undefined;
}

const toPortal = (home: string): Answer => ({
  status: 302,
  headers: { location: home, 'content-type': 'text/html; charset=utf-8' },
  body: html`<!doctype html><title>Set up the device</title><a href="${home}">Set up the device</a>`.text,
});

function showPage({ pipe, token, clock }: PortalParts, memory: Memory): Answer {
  const view = pipe.view.get();
  if (!view) return plain(500, 'The device is starting.\n');
  const { sent, problem } = memory;
  const isPending = sent && clock.now() < sent.until && view.lastAttempt?.wall === sent.before?.wall;
  const state: PageState = { token, problem, pending: isPending ? sent.ssid : undefined };
  return { status: 200, headers: pageHeaders, body: page(view, state).text };
}

async function post(request: Request, parts: PortalParts, memory: Memory, home: string): Promise<Answer> {
  const { pipe, token } = parts;
  const origin = request.headers.get('origin');
  if (origin !== undefined && `${origin}/` !== home) return plain(403, `Only the page at ${home} may send this.\n`);
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') {
    return plain(415, 'Send the fields of the form as application/x-www-form-urlencoded.\n');
  }
  const fields = parseForm(request.body);
  if (!fields) return plain(400, 'The fields are not valid UTF-8.\n');
  pipe.active();
  if (request.path === '/active') return plain(200, '');
  if (request.path !== '/save') return plain(404, 'Send forms to /save.\n');
  const back: Answer = { status: 303, headers: { location: '/' } };
  memory.sent = undefined;
  memory.problem = isSame(fields.get('token') ?? '', token)
    ? await save(fields, parts, memory)
    : 'This page has expired. Enter your details again.';
  return back;
}

/** @returns why it was refused; empty: it was not */
async function save(
  fields: ReadonlyMap<string, string>,
  { pipe, clock }: PortalParts,
  memory: Memory,
): Promise<string> {
  const view = pipe.view.get();
  if (!view) return 'The device is starting. Try again.';
  const entered = readEntered(fields, view);
  if (entered.is === 'problem') return entered.text;
  const answer = await pipe.submit(entered.submission);
  if (!answer.ok) return answer.text;
  const ssid = entered.submission.wifi?.ssid ?? '';
  memory.sent = { ssid, before: view.lastAttempt, until: clock.now() + pendingMs };
  return '';
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

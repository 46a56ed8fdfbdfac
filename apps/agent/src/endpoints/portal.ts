import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '@platform/kit';
import type { ProvisioningView } from '../network/endpoints/provisioning-view.ts';
import { readEntered } from './entered.ts';
import { parseForm } from './form.ts';
import { html } from './html.ts';
import type { Answer, Handler, Request } from './http-connection.ts';
import type { AgentPipe } from './agent-pipe.ts';
import { page, type PageState } from './page.ts';
import { authorityOf, isForPortal } from './probes.ts';
import { script } from './script.ts';
import { style } from './style.ts';

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

import { connect } from 'node:tls';
import { within, type Clock } from '@platform/kit';

const answerMs = 5_000;

/** Validity (ms since 1970) of the certificate that an https server presents; undefined: it presents none. */
export async function peerValidity(url: string, clock: Clock): Promise<{ from: number; until: number } | undefined> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'https:') return undefined;
  const host = hostname.replace(/^\[|\]$/g, '');
  return within(answerMs, { what: 'the certificate', clock }, (signal) => look(host, Number(port || 443), signal));
}

function look(host: string, port: number, signal: AbortSignal): Promise<{ from: number; until: number } | undefined> {
  return new Promise((resolve, reject) => {
    const isName = /[a-z]/i.test(host) && !host.includes(':');
    // The certificate is only inspected and no data is sent, so it need not be trusted.
    const socket = connect({ host, port, rejectUnauthorized: false, ...(isName && { servername: host }) }, () => {
      const shown = socket.getPeerCertificate();
      const [from, until] = [Date.parse(shown.valid_from), Date.parse(shown.valid_to)];
      socket.destroy();
      resolve(Number.isNaN(from) || Number.isNaN(until) ? undefined : { from, until });
    });
    socket.on('error', reject);
    signal.addEventListener('abort', () => socket.destroy(new Error('given up')), { once: true });
  });
}

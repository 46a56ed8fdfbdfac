import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { parseRestartStatus } from '@platform/contract/machine-server/machine-server';
import { parseResourceReport } from '@platform/contract/machine-server/resource-report';
import { errorText, within, type Clock } from '@platform/kit';
import type { Probe } from './ports.ts';
import type { RequestTrace } from './request-trace.ts';

const answerMs = 10_000;
const answerLimitBytes = 64 * 1024;
const reportLimitBytes = 2 ** 20;

export function httpProbe(clock: Clock, trace?: RequestTrace): Probe {
  const ask = async <T>(
    url: string,
    limitBytes: number,
    parse: (body: string) => T,
    signal: AbortSignal,
  ): Promise<T | undefined> => {
    const ended = trace?.begin({ method: 'GET', url }, clock);
    try {
      const body = await within(answerMs, { what: url, clock, signal }, (inner) => get(url, limitBytes, inner));
      ended?.(200, Buffer.byteLength(body));
      return parse(body);
    } catch (error) {
      if (!signal.aborted) ended?.(undefined, 0, errorText(error));
      return undefined;
    }
  };
  return {
    restartStatus: (url, signal) => ask(`${url}/restart_status`, answerLimitBytes, parseRestartStatus, signal),
    resourceReport: (url, signal) => ask(`${url}/resource_status`, reportLimitBytes, parseResourceReport, signal),
  };
}

/** A machine server uses a self-signed certificate. It is on this machine, so the certificate is not verified. */
function get(url: string, limitBytes: number, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? secure : plain;
    const call = request(url, { signal, rejectUnauthorized: false, agent: false }, (answer) => {
      let body = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        body += part;
        if (body.length > limitBytes) call.destroy(new Error('the answer is too long'));
      });
      answer.on('error', reject);
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(body) : reject(new Error(`HTTP ${answer.statusCode}`)),
      );
    });
    call.on('error', reject);
    call.end();
  });
}

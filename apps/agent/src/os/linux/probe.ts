import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { parseRestartStatus } from '@platform/contract/machine';
import { parseResourceReport } from '@platform/contract/resource-report';
import { within, type Clock } from '@platform/kit';
import type { Probe } from '../ports.ts';

const answerMs = 10_000;
const answerLimitBytes = 64 * 1024;
const reportLimitBytes = 2 ** 20;

export const linuxProbe = (clock: Clock): Probe => ({
  restartStatus: (url, signal) =>
    within(answerMs, { what: 'restart_status', clock, signal }, (inner) =>
      get(`${url}/restart_status`, answerLimitBytes, inner),
    ).then(
      (body) => parseRestartStatus(body),
      () => undefined,
    ),
  resourceReport: (url, signal) =>
    within(answerMs, { what: 'resource_status', clock, signal }, (inner) =>
      get(`${url}/resource_status`, reportLimitBytes, inner),
    ).then(
      (body) => parseResourceReport(body),
      () => undefined,
    ),
});

/** A machine server shows a certificate of its own making: it is on this machine, so it is not checked. */
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

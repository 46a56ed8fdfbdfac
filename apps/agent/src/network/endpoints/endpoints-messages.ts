import type { FromEndpoints, Submission } from './provisioning-view.ts';
import { credentialsBytes, submissionProblem } from './submission.ts';

// What comes from the endpoints is checked as if an attacker had sent it: their process parses untrusted input.

/** Credentials in JSON, each character escaped at worst. */
export const fromEndpointsLineBytes = 8 * credentialsBytes;
const longestLogText = 500;

/** Undefined: no message in this format. */
export function parseFromEndpoints(line: string): FromEndpoints | undefined {
  const message = jsonObject(line);
  switch (message?.['is']) {
    case 'ready':
    case 'alive':
    case 'active':
    case 'exit':
      return { is: message['is'] };
    case 'submit': {
      const id = message['id'];
      const submission = submissionOf(message['submission']);
      return typeof id === 'number' && Number.isSafeInteger(id) && submission
        ? { is: 'submit', id, submission }
        : undefined;
    }
    case 'log': {
      const { level, text } = message;
      if ((level !== 'info' && level !== 'warn') || typeof text !== 'string') return undefined;
      return { is: 'log', level, text: text.slice(0, longestLogText).replaceAll(/\p{Cc}/gu, ' ') };
    }
    case 'values': {
      const values = valuesOf(message['values']);
      return values && { is: 'values', values };
    }
    case 'written': {
      const { id } = message;
      const answer = writeAnswers.find((one) => one === message['answer']);
      return typeof id === 'number' && answer ? { is: 'written', id, answer } : undefined;
    }
    default:
      return undefined;
  }
}

const writeAnswers = ['ok', 'NotAuthorized', 'InvalidValueLength', 'Failed'] as const;
/** UUIDs and base64 of at most 512 bytes. */
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const base64 = /^[\w+/]{0,683}=?=?$/;
const mostValues = 64;

function valuesOf(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value);
  const areValid =
    entries.length <= mostValues &&
    entries.every(([name, text]) => uuid.test(name) && typeof text === 'string' && base64.test(text));
  return areValid ? (value as Record<string, string>) : undefined;
}

function submissionOf(value: unknown): Submission | undefined {
  if (!isRecord(value)) return undefined;
  const { wifi, credentials } = value;
  const submission: Submission = {};
  if (wifi !== undefined) {
    if (!isRecord(wifi)) return undefined;
    const { ssid, psk, isHidden } = wifi;
    if (typeof ssid !== 'string' || typeof psk !== 'string' || typeof isHidden !== 'boolean') return undefined;
    submission.wifi = { ssid, psk, isHidden };
  }
  if (credentials !== undefined) {
    if (typeof credentials !== 'string') return undefined;
    submission.credentials = credentials;
  }
  return submissionProblem(submission) === undefined ? submission : undefined;
}

function jsonObject(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

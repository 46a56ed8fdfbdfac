import {
  installerHeader,
  installStepsPath,
  isInstallKey,
  keyHeader,
  keyIdHeader,
  longestDetail,
  type ReportedStep,
} from '@platform/contract/provisioning/install-key';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, within, type Clock } from '@platform/kit';
import type { ApiKey } from './fetch-credentials.ts';

const answerMs = 10_000;

/**
 * Runs an installation, and reports to the page that waits for this machine how it goes. Without a one-time key nothing
 * is reported. A report that fails changes nothing: what it reports is more important.
 *
 * @param done - what is installed once `install` has resolved.
 */
export async function withReports<T>(
  asked: { url: string; apiKey: ApiKey } | undefined,
  { send, clock, platform, done }: { send: typeof fetch; clock: Clock; platform: string; done: string },
  install: () => Promise<T>,
): Promise<T> {
  const key = asked?.apiKey.key.reveal() ?? '';
  if (!asked || !isInstallKey(key)) return install();
  const { id, installer } = asked.apiKey;
  const report = async (step: ReportedStep, detail: string): Promise<void> => {
    const url = new URL(installStepsPath, asked.url);
    url.search = new URLSearchParams({ step, detail: detail.slice(0, longestDetail) }).toString();
    const headers = { [keyIdHeader]: id, [keyHeader]: key, [installerHeader]: installer ?? '' };
    await within(answerMs, { what: 'the answer', clock }, (signal) =>
      send(url, { method: 'POST', headers, redirect: 'manual', signal }),
    ).catch(() => undefined);
  };
  await report('started', platform);
  try {
    const result = await install();
    await report('installed', done);
    return result;
  } catch (error) {
    await report('failed', reasonOf(error));
    throw error;
  }
}

const reasonOf = (error: unknown): string => {
  if (error instanceof PlatformError) return `${error.what} ${error.remedy}`;
  const { remedy } = error as { remedy?: unknown };
  return `${errorText(error)}${typeof remedy === 'string' ? ` ${remedy}` : ''}`;
};

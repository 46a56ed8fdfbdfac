import assert from 'node:assert/strict';
import {
  installerHeader,
  installStepsPath,
  keyHeader,
  keyIdHeader,
  type ReportedStep,
} from '@platform/contract/provisioning/install-key';

/** What an installer reports, with the key of the line that was pasted. @param url - of the server. */
export function installReports(url: string, line: string): (step: ReportedStep, detail?: string) => Promise<void> {
  const [, keyId = '', key = ''] = /PLATFORM_API_KEY_ID=(\S+) PLATFORM_API_KEY=(\S+)/.exec(line) ?? [];
  const headers = { [keyIdHeader]: keyId, [keyHeader]: key, [installerHeader]: 'a'.repeat(32) };
  return async (step, detail = '') => {
    const query = new URLSearchParams({ step, detail }).toString();
    const { status } = await fetch(`${url}${installStepsPath}?${query}`, { method: 'POST', headers });
    assert.equal(status, 204, step);
  };
}

import type { Event } from '../../state-machines/provisioning-state.ts';
import type { EnteredNetworks } from './entered-network.ts';
import { modeOf } from '../settings/network-settings.ts';
import type { ProvisioningParts } from './provisioning-parts.ts';
import type { ProvisioningStatus } from './provisioning-status.ts';
import type { Submission, SubmissionAnswer } from '../endpoints/provisioning-view.ts';
import { submissionProblem } from '../endpoints/submission.ts';

interface Entering {
  parts: ProvisioningParts;
  entered: EnteredNetworks;
  status: ProvisioningStatus;
  push: (event: Event) => void;
}

/** Takes up a network that a user entered before this start. */
export async function recoverEntered(of: Entering, signal: AbortSignal): Promise<void> {
  const { network, settings, log } = of.parts;
  while (network.state.get().manager !== 'ready') {
    if (signal.aborted) return;
    await network.state.changed(signal);
  }
  try {
    const profile = await of.entered.recover(modeOf(settings.get()) === 'roaming');
    if (profile === undefined) return;
    of.status.enteredSsid = of.status.ssidOf(profile);
    of.push({ is: 'submitted', profile });
  } catch (error) {
    log.warn('a network that a user entered before this start cannot be taken up', { error });
  }
}

/** Accepts what a user entered at the hotspot or by Bluetooth. */
export async function submit(of: Entering, submission: Submission): Promise<SubmissionAnswer> {
  const { takeCredentials, settings, log } = of.parts;
  of.push({ is: 'active' });
  const problem = submissionProblem(submission, of.status.radio() !== '');
  if (problem !== undefined) return { ok: false, code: 'INVALID_ARGUMENT', text: problem };
  try {
    if (submission.credentials !== undefined) {
      const taken = await takeCredentials(submission.credentials);
      if (!taken.ok) return taken;
    }
    let profile: string | null = null;
    if (submission.wifi) {
      profile = await of.entered.accept(submission.wifi, modeOf(settings.get()) === 'roaming');
      of.status.enteredSsid = submission.wifi.ssid;
    }
    log.info('a user entered what this device needs', {
      ssid: submission.wifi?.ssid,
      hasCredentials: submission.credentials !== undefined,
    });
    of.push({ is: 'submitted', profile });
    return { ok: true };
  } catch (error) {
    log.warn('what a user entered cannot be stored', { error });
    return { ok: false, code: 'INTERNAL', text: 'The device could not store this. Try again.' };
  }
}

import type { GetSetUpResponse, SetUpAttempt } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SetUpResult } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Tone } from '../../../ui/status-label.ts';
import { msOf } from '../../../ui/times.ts';

/** One thing that the server knows about the set-up of a device. */
export interface Diagnostic {
  tone: Tone;
  text: string;
  /** ms since 1970; undefined: it holds now. */
  time: number | undefined;
  /** It was measured, but it is not known whether it concerns this device. */
  isGuess: boolean;
}

/** A device with its credentials connects within seconds; a slow one gets this long. */
const contactMs = 60_000;

const texts: Readonly<Record<number, { tone: Tone; text: string }>> = {
  [SetUpResult.REDEEMED]: { tone: 'good', text: 'A device redeemed the code and got its credentials' },
  [SetUpResult.REPEATED]: { tone: 'quiet', text: 'The same device redeemed the code again' },
  [SetUpResult.OTHER_DEVICE]: {
    tone: 'bad',
    text: 'Refused: another device tried this code, which one device has redeemed already. If the first one was not yours, create another code: the credentials are for one device',
  },
  [SetUpResult.EXPIRED]: {
    tone: 'bad',
    text: 'Refused: a device tried this code after it had expired. Create another one',
  },
  [SetUpResult.REPLACED]: {
    tone: 'bad',
    text: 'Refused: a device tried the code before this one. Enter the newest code on the page of the device',
  },
  [SetUpResult.SIMILAR]: {
    tone: 'bad',
    text: 'Refused: a device tried a code that differs from this one in one letter, or by two swapped letters. Enter the code again on the page of the device',
  },
};

/** What the server knows, the newest first. @param lastSeen - of the machine, ms since 1970. */
export function setUpDiagnostics(
  setUp: GetSetUpResponse,
  { lastSeen, now }: { lastSeen: number | undefined; now: number },
): Diagnostic[] {
  const createdOn = msOf(setUp.createdOn) ?? 0;
  const redeemedOn = msOf(setUp.redeemedOn);
  const isSilent = redeemedOn !== undefined && (lastSeen ?? 0) < redeemedOn && now - redeemedOn > contactMs;
  const unknownOn = msOf(setUp.unknownCodeOn);
  const found: (Diagnostic | false)[] = [
    ...setUp.serverProblems.map((text) => ({ tone: 'warn', text, time: undefined, isGuess: false }) as const),
    isSilent && {
      tone: 'bad',
      text: 'The device has its credentials, and has not connected since. Look at the page of its hotspot, or run platform-agent status on it',
      time: redeemedOn,
      isGuess: false,
    },
    unknownOn !== undefined &&
      unknownOn >= createdOn && {
        tone: 'warn',
        text: 'Refused: a code of no machine was tried from the network that you use now. It may have been this device: compare the letters',
        time: unknownOn,
        isGuess: true,
      },
    ...setUp.attempts.filter(({ time }) => (msOf(time) ?? 0) >= createdOn).flatMap(diagnosticsOf),
  ];
  return found.filter((one) => one !== false);
}

function diagnosticsOf({
  time,
  result,
  address,
  agentVersion,
  fragmentId,
  fragmentProblem,
}: SetUpAttempt): Diagnostic[] {
  const { tone, text } = texts[result] ?? { tone: 'quiet', text: 'A device tried the code' };
  const by = agentVersion === '' ? 'an agent too old to name its version' : `agent ${agentVersion}`;
  const attempt = { tone, text: `${text} (${by}, from ${address})`, time: msOf(time), isGuess: false };
  if (fragmentId === '') return [attempt];
  const named = `The device names the fragment ${fragmentId}`;
  const fragment =
    fragmentProblem === ''
      ? ({ tone: 'good', text: `${named}: its machine has started with it` } as const)
      : ({ tone: 'warn', text: `${named}, and its machine does not use it. ${fragmentProblem}` } as const);
  return [{ ...fragment, time: msOf(time), isGuess: false }, attempt];
}

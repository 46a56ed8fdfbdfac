import path from 'node:path';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { parseSetUpText } from '@platform/contract/provisioning/set-up-code';
import { readText } from '@platform/kit/node';
import type { FoundCredentials } from '../install/facts.ts';
import { storeCredentials } from '../link/credentials.ts';
import type { Io } from './command.ts';
import { credentialsBefore, stdinText, takenBy, unreadable } from './credentials-input.ts';
import { Ended, endedByMachine, exitCodes } from './exit-codes.ts';
import { controlOf } from '../control/client.ts';
import { sessionLink } from './session-address.ts';
import type { OptionValues } from '@platform/kit/node';
import type { provisionOptions } from './option-tables.ts';

type Given = OptionValues<typeof provisionOptions>;

/** Stores the credentials of this machine, or shows them and how to get them. */
export async function provision(given: Given, io: Io): Promise<number> {
  if (given.code !== undefined)
    return (await import('./redeem-code.ts')).redeemCode({ ...given, code: given.code }, io);
  if (given.hotspot) return forceHotspot(given, io);
  const file = path.resolve(given.config);
  const before = await credentialsBefore(file);
  if (given.credentials === undefined) return tell(file, before, given.json, io);

  const source = given.credentials === '-' ? 'stdin' : path.resolve(given.credentials);
  const text = await (given.credentials === '-' ? stdinText() : readText(source)).catch((error: unknown) => {
    throw endedByMachine(error) ?? unreadable(source, error);
  });
  if (parseSetUpText(text)) return (await import('./redeem-code.ts')).redeemCode({ ...given, code: text }, io);
  const parsed = parseCredentials(text);
  if (!parsed.ok) {
    throw new Ended(exitCodes.usage, {
      code: 'CREDENTIALS_UNUSABLE',
      what: `The credentials from ${source} cannot be used: ${parsed.problem}.`,
      remedy: `${parsed.remedy[0]?.toUpperCase()}${parsed.remedy.slice(1)}.`,
    });
  }
  const { partId, appAddress } = parsed.value;
  if (before.at === 'usable' && before.text === text) {
    say(`${file} holds these credentials already.`, false);
    return exitCodes.nothingToDo;
  }
  if (before.at === 'usable' && before.partId !== partId && !given.force) {
    throw new Ended(exitCodes.refused, {
      code: 'OTHER_CREDENTIALS',
      what: `${file} holds the credentials of another machine (part ${before.partId}).`,
      remedy: 'Use --force to replace them; the old ones are kept beside them as .old.',
    });
  }
  await storeCredentials(file, text);
  say(`This machine is part ${partId} at ${appAddress} now. ${await takenBy(path.resolve(given.root), io)}`, true);
  return exitCodes.done;

  function say(words: string, isChanged: boolean): void {
    io.out(given.json ? JSON.stringify({ is_changed: isChanged, part_id: partId, address: appAddress }) : words);
  }
}

function tell(file: string, found: FoundCredentials, isJson: boolean, io: Io): number {
  const isUsable = found.at === 'usable';
  if (isJson) {
    const known = isUsable ? { part_id: found.partId, address: found.appAddress } : { part_id: '', address: '' };
    const problem = found.at === 'unusable' ? found.problem : '';
    io.out(JSON.stringify({ file, is_provisioned: isUsable, ...known, problem }));
  } else if (isUsable) {
    io.out(`This machine is part ${found.partId} at ${found.appAddress} (${file}).`);
  } else {
    io.out(
      [
        found.at === 'none'
          ? `There are no credentials in ${file}.`
          : `The credentials in ${file} cannot be used: ${found.problem}.`,
        'This machine gets its credentials in one of these ways:',
        '  - In the management app choose "Add a machine", "By phone", and enter the code that it shows:',
        '      sudo platform-agent provision --code ABCD-EFGH@SERVER',
        '  - In the management app create a machine, and copy its credentials to that file; or pass them on:',
        '      platform machine credentials NAME | ssh THIS-MACHINE sudo platform-agent provision --credentials -',
        '  - Install with PLATFORM_API_KEY_ID, PLATFORM_API_KEY, PLATFORM_PART_ID and PLATFORM_URL set: they are fetched.',
        'A running agent sees the file by itself.',
      ].join('\n'),
    );
  }
  return isUsable ? exitCodes.done : exitCodes.nothingToDo;
}

/** Has the running agent start its hotspot, which takes the radio from the WiFi network in use. */
async function forceHotspot(given: { root: string; yes: boolean; json: boolean }, io: Io): Promise<number> {
  const control = controlOf(path.resolve(given.root), io.clock);
  const { network } = await control.status();
  const wifi = await sessionLink(network?.links.filter(({ type }) => type === 'wifi') ?? [], io.env);
  if (wifi && !given.yes) {
    throw new Ended(exitCodes.refused, {
      code: 'NOT_CONFIRMED',
      what: `This session comes over the WiFi network ${wifi.ssid}, which the hotspot would end.`,
      remedy: 'Use --yes. The machine joins the network again when provisioning ends.',
    });
  }
  const answer = await control.post('/provision', {});
  io.out(given.json ? JSON.stringify(answer) : answer.did);
  return answer.is_changed ? exitCodes.done : exitCodes.refused;
}

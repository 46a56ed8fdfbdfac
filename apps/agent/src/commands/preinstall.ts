import { createLog } from '@platform/kit';
import { stderrSink, Usage } from '@platform/kit/node';
import { system } from '../composition/system.ts';
import { ImageRefused, preinstall as install, type Proof } from '../install/preinstall.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import type { OptionValues } from '@platform/kit/node';
import type { preinstallOptions } from './option-tables.ts';

type Given = OptionValues<typeof preinstallOptions>;

export async function preinstall(given: Given, io: Io): Promise<number> {
  const { target, defaults, credentials, json } = given;
  if (target === undefined) throw new Usage('--target must name the mounted root file system of the device.', 2);
  const binary = given.binary ?? process.execPath;
  const log = createLog({ name: 'preinstall', clock: io.clock, level: 'warn', sink: stderrSink('text') });
  const steps: string[] = [];
  const report = (text: string): void => {
    steps.push(text);
    if (!json) io.out(`  ${text}`);
  };
  try {
    const version = await install(
      { target, binary, proof: proofOf(given), defaults, credentials },
      { system, clock: io.clock, log, report },
    );
    if (json) io.out(JSON.stringify({ version, steps }));
    else io.out(`platform-agent ${version} is in ${target}, and starts at the first boot.`);
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof ImageRefused)) throw error;
    throw new Ended(exitCodes.refused, { code: error.code, what: error.message, remedy: error.remedy });
  }
}

function proofOf({ sums, sig, trustedRoot, unsigned }: Given): Proof | undefined {
  if (unsigned) return undefined;
  if (sums === undefined || sig === undefined || trustedRoot === undefined)
    throw new Usage(
      '--sums, --sig and --trusted-root prove that the agent is the one of your server. Without a proof, use --unsigned.',
      2,
    );
  return { sums, signature: sig, trustedRoot };
}

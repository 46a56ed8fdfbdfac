import { conditionOf } from '@platform/contract/conditions/conditions';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { parseSetUpText, setUpTextProblem, type SetUpText } from '@platform/contract/provisioning/set-up-code';
import { Cell, createLog } from '@platform/kit';
import { fragmentOf } from '../config/own-fragment.ts';
import { system } from '../composition/system.ts';
import type { Condition } from '../health/conditions.ts';
import { storeCredentials } from '../link/credentials.ts';
import { SetUpCode, setUpCodeFile } from '../link/set-up-code.ts';
import { setUpConnections } from '../link/set-up-connection.ts';
import { version } from '../versions/own-version.ts';
import type { Io } from './command.ts';
import { credentialsBefore, stdinText, takenBy } from './credentials-input.ts';
import { Ended, endedByMachine, exitCodes } from './exit-codes.ts';
import { readDefaults } from './layers.ts';
import type { OptionValues } from '@platform/kit/node';
import type { provisionOptions } from './option-tables.ts';

type Given = Omit<OptionValues<typeof provisionOptions>, 'credentials' | 'hotspot' | 'yes' | 'code'> & {
  /** `-`: stdin. */
  code: string;
};

/** Redeems a set-up code for the credentials of this machine, or leaves it to the agent. */
export async function redeemCode(given: Given, io: Io): Promise<number> {
  const entered = enteredCode(given.code === '-' ? await stdinText() : given.code);
  const [file, root] = [path.resolve(given.config), path.resolve(given.root)];
  const before = await credentialsBefore(file);
  const hasCredentials = before.at === 'usable';
  if (hasCredentials && !given.force) {
    throw new Ended(exitCodes.refused, {
      code: 'OTHER_CREDENTIALS',
      what: `${file} holds the credentials of part ${before.partId} already. The code was not used.`,
      remedy: 'Use --force to replace them; the old ones are kept beside them as .old.',
    });
  }
  const setUpCode = await openSetUpCode(root, given.defaults, io);
  // The agent redeems it if this command is interrupted.
  await setUpCode.keep(entered).catch((error: unknown) => {
    throw endedByMachine(error) ?? error;
  });
  const stored = { partId: '', appAddress: '' };
  const take = async (text: string): Promise<void> => {
    const parsed = parseCredentials(text);
    if (!parsed.ok)
      throw new PlatformError('CREDENTIALS_UNUSABLE', { source: entered.server, problem: parsed.problem });
    await storeCredentials(file, text);
    Object.assign(stored, parsed.value);
  };
  const problem = await setUpCode.redeemOnce(take, io.gone).catch(async (error: unknown) => {
    if (hasCredentials) await setUpCode.drop();
    if (!(error instanceof PlatformError)) throw endedByMachine(error) ?? error;
    throw new Ended(exitCodes.refused, { code: error.code, what: error.what, remedy: error.remedy });
  });
  if (problem !== undefined) return waits(problem);
  const { partId, appAddress: address } = stored;
  const did = await takenBy(root, io);
  io.out(
    given.json
      ? JSON.stringify({ is_changed: true, part_id: partId, address })
      : `This machine is part ${partId} at ${address} now. ${did}`,
  );
  return exitCodes.done;

  async function waits(why: string): Promise<number> {
    const data = { server: entered.server, problem: why };
    const { message: what, remedy } = conditionOf('SET_UP_CODE_WAITS', data);
    if (hasCredentials) {
      await setUpCode.drop(); // a running agent replaces no credentials that are in use
      throw new Ended(exitCodes.failed, { code: 'SET_UP_CODE_WAITS', what, remedy: 'Repeat the command then.' });
    }
    await takenBy(root, io);
    io.out(
      given.json
        ? JSON.stringify({ is_changed: false, is_waiting: true, part_id: '', address: entered.server, problem: why })
        : `The code is kept, and the agent redeems it. ${what} ${remedy}`,
    );
    return exitCodes.done;
  }
}

function enteredCode(text: string): SetUpText {
  const entered = parseSetUpText(text);
  if (entered) return entered;
  const problem = setUpTextProblem(text) ?? 'it is something else';
  throw new Ended(exitCodes.usage, {
    code: 'CREDENTIALS_UNUSABLE',
    what: `The set-up code cannot be used: ${problem}.`,
    remedy: 'Enter it as the management app shows it, for example ABCD-EFGH@fleet.example.',
  });
}

async function openSetUpCode(root: string, defaults: string, { clock }: Io): Promise<SetUpCode> {
  const file = setUpCodeFile(root);
  const log = createLog({ name: 'provision', clock, level: 'error', sink: () => {} });
  const conditions = new Cell<readonly Condition[]>([]);
  const connect = setUpConnections({ root, clock, system });
  await mkdir(path.dirname(file), { recursive: true }).catch((error: unknown) => {
    throw endedByMachine(error) ?? error;
  });
  const fragmentId = fragmentOf(await readDefaults(defaults));
  return new SetUpCode({ file, conditions, connect, version, fragmentId, clock, log });
}

import { randomBytes } from 'node:crypto';
import { type DescMessage, fromBinary, type JsonObject, type MessageShape } from '@bufbuild/protobuf';
import type { GenMessage } from '@bufbuild/protobuf/codegenv2';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { installerHeader, keyHeader, keyIdHeader } from '@platform/contract/provisioning/install-key';
import { codeHeader, deviceHeader, redeemPath } from '@platform/contract/provisioning/set-up-code';
import { failure } from '../failure.ts';
import type { Credentials } from '../server.ts';
import { callOf, type Headers, type Outcome, outcomeOf, type Wire } from './ask.ts';
import type { Trial } from './matrix.ts';
import { answersOf, machineOwners, type Named, owners } from './rights.ts';
import { authorization, sharesItsIdentity } from './rights-of-machines.ts';
import { grantOn, type Machine, type World } from './world.ts';

type Allowed = 'may' | 'may not';

/** What went wrong with what a call gave; empty: it opens what it is for, and nothing else. */
type Use<Answer> = (world: World, machine: Machine, answer: Answer) => Promise<string>;

type Giving = (world: World, wire: Wire) => ReturnType<Trial['prepare']>;

/** A call that gives credentials, and what they open. */
function giving<Method extends { input: DescMessage; output: GenMessage<MessageShape<DescMessage>> }>(
  method: Method & Parameters<typeof callOf>[0],
  ask: (world: World, machine: Machine) => JsonObject | Promise<JsonObject>,
  use: Use<MessageShape<Method['output']>>,
): Giving {
  return async (world, wire) => {
    const machine = await world.freshMachine();
    const message = await ask(world, machine);
    const send = async (headers: Headers): Promise<Outcome> => {
      const call = callOf(method, [message], { 'connect-protocol-version': '1', ...headers });
      const outcome = outcomeOf(await wire.send(call));
      if (outcome.code !== 'ok') return outcome;
      const problem = await use(
        world,
        machine,
        fromBinary(method.output, outcome.bytes) as MessageShape<Method['output']>,
      );
      return problem === '' ? outcome : { ...outcome, code: `ok, but ${problem};` };
    };
    return { text: JSON.stringify(message), subject: { machine }, send };
  };
}

const asKey = ({ id, key }: { id: string; key: string }): Credentials => ({
  type: 'api-key',
  entity: id,
  payload: key,
});

/** Compares what credentials may do with a table. */
async function problems(of: Record<string, [call: () => Promise<unknown>, expected: Allowed]>): Promise<string> {
  const found: string[] = [];
  for (const [what, [call, expected]] of Object.entries(of)) {
    const outcome = await failure(call());
    const isRight = expected === 'may' ? outcome === 'no failure' : outcome.startsWith('PermissionDenied ');
    if (!isRight) found.push(`${what}: ${outcome}`);
  }
  return found.join(', ');
}

/** What a key of an operator of one machine may do with it and with the machine beside. */
async function operates({ on, beside }: World, machine: Machine, key: Credentials): Promise<string> {
  const fleet = await on.client(FleetService, key);
  return problems({
    'its configuration': [() => fleet.getConfig({ partId: machine.partId }), 'may'],
    'its credentials': [() => fleet.getCredentials({ partId: machine.partId }), 'may not'],
    'the machine beside': [() => fleet.getConfig({ partId: beside.partId }), 'may not'],
  });
}

const operatorOf = async ({ freshKey, orgId }: World, { machineId }: Machine): Promise<JsonObject> => ({
  id: (await freshKey([grantOn('operator', 'robot', machineId, orgId)])).entity,
});

const rows: [what: string, may: Named, give: Giving][] = [
  [
    'a key of an owner of the machine',
    { ok: machineOwners },
    giving(
      AppService.method.createKey,
      ({ orgId }, { machineId }) => ({
        authorizations: [authorization('robot_owner', 'robot', machineId, orgId)],
      }),
      async ({ on, beside }, machine, made) => {
        const fleet = await on.client(FleetService, asKey(made));
        return problems({
          'its credentials': [() => fleet.getCredentials({ partId: machine.partId }), 'may'],
          'the machine beside': [() => fleet.getCredentials({ partId: beside.partId }), 'may not'],
        });
      },
    ),
  ],
  [
    'a copy of an operator’s key',
    { ok: machineOwners },
    giving(AppService.method.createKeyFromExistingKeyAuthorizations, operatorOf, (world, machine, made) =>
      operates(world, machine, asKey(made)),
    ),
  ],
  [
    'an operator’s key with a new secret',
    { ok: machineOwners },
    giving(AppService.method.rotateKey, operatorOf, (world, machine, made) => operates(world, machine, asKey(made))),
  ],
  [
    'a set-up code',
    { ok: machineOwners },
    giving(FleetService.method.createSetUpCode, (_, { partId }) => ({ partId }), redeemed),
  ],
  [
    'a one-time key of an install command',
    { ok: machineOwners },
    giving(FleetService.method.createInstallKey, (_, { partId }) => ({ partId }), installs),
  ],
  [
    'a machine made of one of two computers',
    { ok: owners },
    giving(
      FleetService.method.splitMachine,
      async ({ on, orgId, freshPackage }, { machineId, partId }) => {
        const name = await freshPackage('ml_model');
        const config = { packages: [{ name, package: `${orgId}/${name}`, type: 'ml_model', version: '1' }] };
        await (await on.client(FleetService)).saveConfig({ partId, configJson: JSON.stringify(config) });
        await sharesItsIdentity(on, partId);
        return { id: machineId };
      },
      usesTheModel,
    ),
  ],
];

/** The code opens this machine to one device, and nothing to a second one. */
async function redeemed(
  { on }: World,
  { partId, part }: Machine,
  { code }: MessageShape<typeof FleetService.method.createSetUpCode.output>,
): Promise<string> {
  const redeem = () =>
    fetch(`${on.url}${redeemPath}`, {
      method: 'POST',
      headers: { [codeHeader]: code, [deviceHeader]: randomBytes(32).toString('base64url') },
    });
  const [first, second] = [await redeem(), await redeem()];
  if (!first.ok || second.ok) return `the first device got ${first.status}, the second ${second.status}`;
  const { cloud } = (await first.json()) as { cloud: { id: string; secret: string } };
  const own = await on.client(RobotService, { ...part, entity: cloud.id, payload: cloud.secret });
  return problems({
    'its configuration': [() => own.config({ id: partId }), 'may'],
    'the credentials of this machine': [
      async () => (await on.client(FleetService, { ...part, payload: cloud.secret })).getCredentials({ partId }),
      'may not',
    ],
  });
}

/** The key opens this machine to one computer, nothing to a second one, and no other machine. */
async function installs(
  { on, beside }: World,
  { partId, part }: Machine,
  { keyId, key }: MessageShape<typeof FleetService.method.createInstallKey.output>,
): Promise<string> {
  const ask = (id: string) =>
    fetch(`${on.url}/api/json1/config?client=true&id=${id}`, {
      headers: { [keyIdHeader]: keyId, [keyHeader]: key, [installerHeader]: randomBytes(16).toString('hex') },
    });
  const [other, first, second] = [await ask(beside.partId), await ask(partId), await ask(partId)];
  if (other.ok || !first.ok || second.ok)
    return `another machine got ${other.status}, the first computer ${first.status}, the second ${second.status}`;
  const { cloud } = (await first.json()) as { cloud: { id: string; secret: string } };
  const own = await on.client(RobotService, { ...part, entity: cloud.id, payload: cloud.secret });
  return problems({ 'its configuration': [() => own.config({ id: partId }), 'may'] });
}

/** The new machine has the configuration of the first, so it downloads what this one names. */
async function usesTheModel(
  { on, orgId, token }: World,
  { partId }: Machine,
  made: MessageShape<typeof FleetService.method.splitMachine.output>,
): Promise<string> {
  const fleet = await on.client(FleetService);
  const [{ credentialsJson }, { configJson }] = [
    await fleet.getCredentials({ partId: made.partId }),
    await fleet.getConfig({ partId }),
  ];
  const { cloud } = JSON.parse(credentialsJson) as { cloud: { id: string; secret: string } };
  const { packages } = JSON.parse(configJson) as { packages: { name: string }[] };
  const headers = {
    authorization: `Bearer ${await token({ type: 'robot-secret', entity: cloud.id, payload: cloud.secret })}`,
  };
  const { status } = await fetch(`${on.url}/packages/${orgId}/${packages[0]?.name ?? ''}/1.tar.gz`, { headers });
  return status === 200 ? '' : `its model: ${status}`;
}

/** Each caller asks for credentials; those that get some use them for what they open, and for what they must not. */
export const trialsOfCredentials = (world: World, wire: Wire): Trial[] =>
  rows.map(([what, may, give]) => ({
    what,
    answers: answersOf(may),
    ofUnauthenticated: () => 'not authenticated',
    prepare: () => give(world, wire),
  }));

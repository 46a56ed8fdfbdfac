// The provisioning calls that an app sends to the device over its hotspot. What it sends is staged; ExitProvisioning
// hands it to the agent. Neither a secret nor an SSID is logged here.
import {
  fromBinary,
  toBinary,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  create,
} from '@bufbuild/protobuf';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  ProvisioningService,
  type CloudConfig,
  type NetworkInfoSchema,
} from '@platform/contract/gen/platform/provisioning/v1/provisioning_pb';
import { TimeoutError, within, type Clock } from '@platform/kit';
import type { WifiSecurity } from '../os/network-port.ts';
import type { ProvisioningView, Submission } from '../network/endpoints/provisioning-view.ts';
import { submissionProblem } from '../network/endpoints/submission.ts';
import { credentialsText } from './credentials-text.ts';
import { GrpcFailure, type Unary } from './grpc-server.ts';
import type { AgentPipe } from './agent-pipe.ts';

const handOverMs = 60_000;
/** The agent ends this process if it sends too many messages. */
const handOvers = { count: 5, perMs: 10_000 };
/** About 8 KiB in one answer. */
const maxNetworks = 100;
const maxErrors = 20;

/** In the words that public clients show; `-`: no password is needed. */
const securityTexts: Readonly<Record<WifiSecurity, string>> = {
  open: '-',
  owe: 'OWE',
  'wpa-psk': 'WPA2',
  sae: 'WPA3',
  'wpa-eap': 'WPA2 802.1X',
  wep: 'WEP',
  unknown: '',
};

/** The five calls by path, under the package name of this project and under that of public clients. */
export function provisioningCalls(pipe: AgentPipe, clock: Clock): ReadonlyMap<string, Unary> {
  const calls = new ProvisioningCalls(pipe, clock);
  const { method, typeName } = ProvisioningService;
  const unary =
    <I extends DescMessage, O extends DescMessage>(
      { input, output }: { input: I; output: O },
      answer: (request: MessageShape<I>) => MessageInitShape<O> | Promise<MessageInitShape<O>>,
    ): Unary =>
    async (bytes) => {
      const request = decode(input, bytes);
      pipe.active();
      return toBinary(output, create(output, await answer(request)));
    };
  const byName: Readonly<Record<string, Unary>> = {
    [method.getSmartMachineStatus.name]: unary(method.getSmartMachineStatus, () => calls.status()),
    [method.getNetworkList.name]: unary(method.getNetworkList, () => calls.networks()),
    [method.setNetworkCredentials.name]: unary(method.setNetworkCredentials, (request) => calls.stageNetwork(request)),
    [method.setSmartMachineCredentials.name]: unary(method.setSmartMachineCredentials, ({ cloud }) =>
      calls.stageCredentials(cloud),
    ),
    [method.exitProvisioning.name]: unary(method.exitProvisioning, () => calls.exit()),
  };
  const services = [typeName, typeName.replace(/^platform\./, 'viam.')];
  return new Map(
    services.flatMap((service) => Object.entries(byName).map(([name, call]) => [`/${service}/${name}`, call] as const)),
  );
}

function decode<I extends DescMessage>(schema: I, bytes: Uint8Array): MessageShape<I> {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch {
    throw new PlatformError('INVALID_MESSAGE', { problem: schema.typeName });
  }
}

class ProvisioningCalls {
  readonly #pipe: AgentPipe;
  readonly #clock: Clock;
  #staged: { wifi?: { ssid: string; psk: string }; credentials?: string } = {};
  #handingOver: Promise<object> | undefined;
  #errors: string[] = [];
  /** Wall time of the last attempt that is in `#errors` or was in an answer. */
  #reportedAttempt = 0;
  #handOverTimes: readonly number[] = [];
  #isHandedOver = false;

  constructor(pipe: AgentPipe, clock: Clock) {
    this.#pipe = pipe;
    this.#clock = clock;
  }

  status() {
    const view = this.#view();
    const { lastAttempt } = view;
    const errors = this.#errors;
    this.#errors = [];
    if (lastAttempt && lastAttempt.text !== '' && lastAttempt.wall !== this.#reportedAttempt) {
      this.#reportedAttempt = lastAttempt.wall;
      errors.push(lastAttempt.text);
    }
    return {
      provisioningInfo: { fragmentId: view.fragmentId, model: view.model, manufacturer: view.manufacturer },
      hasSmartMachineCredentials: view.hasCredentials,
      isOnline: view.isOnline,
      ...(lastAttempt && { latestConnectionAttempt: networkInfo(lastAttempt.ssid, view) }),
      errors,
      agentVersion: view.agentVersion,
    };
  }

  networks() {
    const view = this.#view();
    return { networks: view.networks.slice(0, maxNetworks).map(({ ssid }) => networkInfo(ssid, view)) };
  }

  stageNetwork({ type, ssid, psk }: { type: string; ssid: string; psk: string }): object {
    if (type !== 'wifi') throw new PlatformError('PROVISIONING_NETWORK_TYPE', { type: type.slice(0, 50) });
    this.#staged.wifi = { ssid, psk };
    return {};
  }

  stageCredentials(cloud: CloudConfig | undefined): object {
    if (!cloud) throw new PlatformError('PROVISIONING_CREDENTIALS_MISSING');
    this.#staged.credentials = credentialsText({ ...cloud, apiKey: cloud.apiKey });
    return {};
  }

  /**
   * Hands over what is staged, or leaves provisioning. With nothing staged it joins a hand-over that still runs. After a
   * hand-over it answers at once: a client repeats the call when it has lost the answer.
   */
  exit(): Promise<object> {
    const { wifi, credentials } = this.#staged;
    this.#staged = {};
    if (!wifi && credentials === undefined) {
      if (!this.#isHandedOver && !this.#handingOver) this.#pipe.exit();
      return this.#handingOver ?? Promise.resolve({});
    }
    const isVisible = this.#view().networks.some(({ ssid }) => ssid === wifi?.ssid);
    const handingOver = this.#handOver({
      ...(wifi && { wifi: { ...wifi, isHidden: !isVisible } }),
      ...(credentials !== undefined && { credentials }),
    }).finally(() => {
      if (this.#handingOver === handingOver) this.#handingOver = undefined;
    });
    this.#handingOver = handingOver;
    return handingOver;
  }

  #view(): ProvisioningView {
    const view = this.#pipe.view.get();
    if (!view) throw new GrpcFailure('STARTING', 'The device is starting. Repeat the call in a few seconds.');
    return view;
  }

  async #handOver(submission: Submission): Promise<object> {
    const problem = submissionProblem(submission);
    if (problem !== undefined) throw this.#refused('INVALID_ARGUMENT', problem);
    const since = this.#clock.now() - handOvers.perMs;
    const recent = this.#handOverTimes.filter((time) => time > since);
    if (recent.length >= handOvers.count)
      throw new PlatformError('TOO_MANY_REQUESTS', {
        limit: `${handOvers.count} hand-overs in ${handOvers.perMs / 1_000} s`,
      });
    this.#handOverTimes = [...recent, this.#clock.now()];
    const limit = { what: 'the hand-over to the agent', clock: this.#clock };
    const answer = await within(handOverMs, limit, () => this.#pipe.submit(submission)).catch((error: unknown) => {
      if (error instanceof TimeoutError)
        throw new PlatformError('PROVISIONING_NOT_TAKEN', { seconds: handOverMs / 1_000 });
      throw error;
    });
    this.#isHandedOver ||= answer.ok;
    if (answer.ok) return {};
    throw this.#refused(answer.code, answer.text);
  }

  /** The next status reports it, too: the client may lose this answer. */
  #refused(code: string, text: string): GrpcFailure {
    if (this.#errors.length < maxErrors) this.#errors.push(text);
    return new GrpcFailure(code, text);
  }
}

function networkInfo(
  ssid: string,
  { networks, connectedTo, lastAttempt }: ProvisioningView,
): MessageInitShape<typeof NetworkInfoSchema> {
  const seen = networks.find((network) => network.ssid === ssid);
  return {
    type: 'wifi',
    ssid,
    security: seen ? securityTexts[seen.security] : '',
    signal: seen?.signalPercent ?? 0,
    connected: ssid === connectedTo,
    lastError: lastAttempt?.ssid === ssid ? lastAttempt.text : '',
  };
}

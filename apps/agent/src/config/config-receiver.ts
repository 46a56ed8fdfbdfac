import { fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { base64Decode, base64Encode } from '@bufbuild/protobuf/wire';
import {
  resolveAgentConfig,
  type Correction as ConfigCorrection,
  type Layer,
} from '@platform/contract/config/agent-config';
import { type ActingAgent, ineffectiveFields } from '@platform/contract/config/effect';
import { isObject } from '@platform/contract/text/json-object';
import { joined, readAgent } from '@platform/contract/config/reading';
import { secretsIn } from '@platform/contract/config/secrets';
import { agentOf } from '@platform/contract/config/device-structs';
import {
  DeviceAgentConfigResponseSchema,
  type DeviceAgentConfigResponse,
  type UpdateInfo,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { OrderKind as WireOrderKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Cell, errorText } from '@platform/kit';
import { settingsOf } from '../state/settings.ts';
import { noContent, type OrderKind, type Release, type Wanted } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { clearCondition, setCondition, type ConditionSet } from '../health/condition-set.ts';
import type { Context } from '../health/context.ts';

export const cacheFile = 'state/config.json';

/** The layers that do not come from the management server. */
export interface OwnLayers {
  commandLine: unknown;
  manufacturer: unknown;
  /** The file from which the manufacturer's layer was read. */
  manufacturerFile?: string;
  isFastStart: boolean;
  /** Why the manufacturer's layer could not be read. */
  problem?: string;
  /** Undefined: unknown, as before the agent runs. */
  acting?: ActingAgent;
}

/** Before the first answer of the management server: the defaults and the local layers of this machine. */
export function wantedBefore(layers: OwnLayers): Wanted {
  const { config, corrections, hasSystem, networkPlaces } = resolveAgentConfig({
    commandLine: layers.commandLine,
    manufacturer: layers.manufacturer,
  });
  return {
    ...noContent,
    settings: settingsOf(config, { ...layers, hasSystem }),
    corrections: correctionsOf(corrections, layers),
    ineffective: [],
    networkSources: { networks: networkPlaces, fields: {} },
    versions: { agent: '', server: '' },
    server: undefined,
    agent: undefined,
    clearance: 0,
    systemUpgrades: 0,
    orders: [],
    isFresh: false,
  };
}

const correctionsOf = (corrections: readonly ConfigCorrection[], layers: OwnLayers): Wanted['corrections'] =>
  corrections.map(({ layer, path, problem, used }) => ({ path, file: fileOf(layer, layers), problem, used }));

/** The desired state that an answer of the management server results in on this machine. */
function wantedOf(answer: DeviceAgentConfigResponse, layers: OwnLayers, isFresh: boolean): Wanted {
  const { config, corrections, hasSystem, networkPlaces } = resolveAgentConfig({
    commandLine: layers.commandLine,
    cloud: cloudLayer(answer),
    manufacturer: layers.manufacturer,
    maintenanceWindow: windowsOf(answer),
  });
  return {
    revision: Number(answer.revision),
    configSha256: hex(answer.configSha256),
    settings: settingsOf(config, { ...layers, hasSystem }),
    corrections: correctionsOf(corrections, layers),
    ineffective: ineffectiveFields(
      { agent: cloudLayer(answer), maintenance_window: windowsOf(answer) },
      layers.acting ?? {},
    ),
    networkSources: { networks: networkPlaces, fields: writtenNetworkFields(answer) },
    versions: writtenVersions(answer),
    server: releaseOf(answer.serverUpdateInfo),
    agent: releaseOf(answer.agentUpdateInfo),
    clearance: Number(answer.quarantineClearance),
    systemUpgrades: Number(answer.systemUpgrades),
    orders: answer.orders.flatMap(({ id, kind }) => {
      const known = orderKindOf(kind);
      return known ? [{ id, kind: known }] : [];
    }),
    isFresh,
  };
}

/** Undefined: a newer server knows more. */
function orderKindOf(kind: WireOrderKind): OrderKind | undefined {
  if (kind === WireOrderKind.REBOOT) return 'reboot';
  return kind === WireOrderKind.RESTART_AGENT ? 'restart agent' : undefined;
}

/** The saved key as it is; a list comes in a field of its own. */
const windowsOf = ({ maintenanceWindow, maintenanceWindows }: DeviceAgentConfigResponse): unknown =>
  maintenanceWindow ?? (maintenanceWindows && toJson(ValueSchema, maintenanceWindows));

const fileOf = (layer: Layer, { manufacturerFile }: OwnLayers): string => {
  if (layer === 'cloud') return '';
  return layer === 'command line' ? 'the command line of the agent' : (manufacturerFile ?? 'the defaults file');
};

function writtenNetworkFields({ agent }: DeviceAgentConfigResponse): Record<string, string> {
  const { agent: read, written } = readAgent(agent ?? {});
  const section = read['network_configuration'];
  return Object.fromEntries(
    Object.keys(isObject(section) ? section : {}).flatMap((key) => {
      const path = written.get(joined('agent.network_configuration', key));
      return path === undefined ? [] : [[key, path]];
    }),
  );
}

function writtenVersions({ agent }: DeviceAgentConfigResponse): Wanted['versions'] {
  const versions = agent && readAgent(agent).agent['version_control'];
  const text = (key: string): string => {
    const value = isObject(versions) ? versions[key] : undefined;
    return typeof value === 'string' ? value : '';
  };
  return { agent: text('agent'), server: text('platform-server') };
}

function cloudLayer(answer: DeviceAgentConfigResponse): unknown {
  const { agent, advancedSettings, networkConfiguration, additionalNetworks, systemConfiguration } = answer;
  return agentOf({
    ...(agent && { agent }),
    ...(advancedSettings && { advancedSettings }),
    ...(networkConfiguration && { networkConfiguration }),
    ...(additionalNetworks && { additionalNetworks }),
    ...(systemConfiguration && { systemConfiguration }),
  });
}

function releaseOf(update: UpdateInfo | undefined): Release | undefined {
  // An empty version once reached devices by mistake; it could not be installed.
  if (!update || update.version === '' || update.url === '') return undefined;
  const { url, version, target, desired, unsigned, deltas } = update;
  return {
    url,
    version,
    sha256: hex(update.sha256),
    sizeBytes: Number(update.sizeBytes),
    target,
    isUnsigned: unsigned,
    deltas: deltas.map((d) => ({
      fromSha256: hex(d.fromSha256),
      url: d.url,
      sha256: hex(d.sha256),
      sizeBytes: Number(d.sizeBytes),
    })),
    desired: desired || version,
  };
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The server checks its configuration when it is saved; the manufacturer's file is checked here. */
function reportUnknownKeys({ manufacturer, manufacturerFile = '' }: OwnLayers, conditions: ConditionSet): void {
  if (isObject(manufacturer) && manufacturer['version_control'] !== undefined)
    setCondition(
      conditions,
      'NO_EFFECT_HERE',
      {
        problem: `agent.version_control in ${manufacturerFile}: no effect, because the management server chooses the versions`,
        remedy: 'Choose them in the configuration of the machine or in a fragment',
      },
      { subject: `versions of ${manufacturerFile}`, severity: 'note' },
    );
  const { remarks } = readAgent(isObject(manufacturer) ? manufacturer : {});
  const unknown = remarks.filter(({ is }) => is === 'unknown key').map(({ path }) => path);
  if (unknown.length === 0) return;
  setCondition(
    conditions,
    'NO_EFFECT_HERE',
    {
      problem: `${unknown.slice(0, 5).join(', ')} in ${manufacturerFile}: no effect, because this version does not know it`,
      remedy: `Check the spelling in ${manufacturerFile}, and restart the agent`,
    },
    { subject: manufacturerFile, severity: 'note' },
  );
}

/** Parses the stored answer. Ignores members that a newer agent adds. */
export const cachedAnswer = (value: unknown): { bytes: string; answer: DeviceAgentConfigResponse } => {
  const bytes = typeof value === 'object' && value !== null && 'answer' in value ? value.answer : undefined;
  if (typeof bytes !== 'string') throw new Error('it holds no answer of the management server');
  return { bytes, answer: fromBinary(DeviceAgentConfigResponseSchema, base64Decode(bytes)) };
};

export interface ConfigReceiverParts extends Pick<Context, 'disk' | 'wanted' | 'conditions' | 'log'> {
  layers: OwnLayers;
  /** Called with the secrets of the configuration before any of them could be logged. Undefined: no masking. */
  hide?: (secrets: readonly string[]) => void;
}

/** Accepts the management server's answers: sets the desired state and caches the answer on disk. */
export class ConfigReceiver {
  readonly #parts: ConfigReceiverParts;
  #fingerprint = '';
  #bytes = '';
  /** The newest answer is also on disk. */
  #isStored = true;

  constructor(parts: ConfigReceiverParts) {
    this.#parts = parts;
  }

  /**
   * Counts the whole answers that arrived, used or not. The management server waits for a report after each: an
   * earlier one says nothing of the configuration that it sent.
   */
  readonly received = new Cell(0);

  /** Fingerprint of the answer that is in effect; empty: none. */
  get fingerprint(): string {
    return this.#fingerprint;
  }

  /** Starts from the last answer of an earlier run. Without a usable one, the defaults apply. */
  async loadCache(): Promise<void> {
    const { disk, wanted, layers, conditions, log } = this.#parts;
    this.#learn();
    if (layers.problem !== undefined) {
      log.error("the manufacturer's defaults are not used", { problem: layers.problem });
      setCondition(conditions, 'DEFAULTS_UNUSABLE', { problem: layers.problem });
    }
    reportUnknownKeys(layers, conditions);
    const { value, problem } = await readChecked(disk, cacheFile, cachedAnswer);
    if (problem !== undefined) {
      const used = value ? 'the last good one is used' : 'the defaults are used until the management server answers';
      log.warn('the stored configuration cannot be read', { problem, used });
      setCondition(conditions, 'CONFIG_CACHE_DAMAGED', { problem, used });
    }
    if (!value) return;
    this.#learn(value.answer);
    wanted.set(wantedOf(value.answer, layers, false));
    if (problem === undefined) {
      this.#fingerprint = value.answer.fingerprint;
      this.#bytes = value.bytes;
    } // otherwise it is an older answer, which must not be taken for the newest
    log.info('starting from the cached configuration', { revision: wanted.get().revision });
  }

  /**
   * Returns true if the answer changed the configuration.
   *
   * @param askedWith - fingerprint that the request carried. If the other of the two calls has brought another answer
   * since, this one may be older: it is ignored, and the next request gets the newest.
   */
  async accept(answer: DeviceAgentConfigResponse, askedWith: string): Promise<boolean> {
    const { wanted, layers, conditions, log } = this.#parts;
    if (!answer.notModified) this.received.update((count) => count + 1);
    if (askedWith !== this.#fingerprint) return false;
    const bytes = answer.notModified ? this.#bytes : base64Encode(toBinary(DeviceAgentConfigResponseSchema, answer));
    if (bytes === this.#bytes) {
      if (!this.#isStored) await this.#store();
      if (!wanted.get().isFresh) wanted.update((w) => ({ ...w, isFresh: true }));
      return false;
    }
    this.#bytes = bytes; // at once: the same answer may arrive by two calls
    this.#fingerprint = answer.fingerprint;
    this.#learn(answer);
    const next = wantedOf(answer, layers, true);
    log.info('configuration received', {
      revision: next.revision,
      server: next.server?.version,
      agent: next.agent?.version,
    });
    for (const correction of next.corrections)
      log.warn('a bad value of the configuration was replaced', { ...correction });
    wanted.set(next); // before it is stored: a second call with the same answer must not see the old state
    await this.#store();
    clearCondition(conditions, 'CONFIG_CACHE_DAMAGED');
    return true;
  }

  #learn(answer?: DeviceAgentConfigResponse): void {
    const { layers, hide } = this.#parts;
    hide?.(secretsIn(answer && cloudLayer(answer), layers.commandLine, layers.manufacturer));
  }

  /** A full or read-only disk does not stop a configuration from being used; only the next start offline lacks it. */
  async #store(): Promise<void> {
    const { disk, conditions, log } = this.#parts;
    try {
      await writeChecked(disk, cacheFile, { answer: this.#bytes });
      this.#isStored = true;
      clearCondition(conditions, 'STATE_NOT_STORED');
    } catch (error) {
      if (this.#isStored) log.warn('the configuration cannot be stored', { error });
      this.#isStored = false;
      setCondition(conditions, 'STATE_NOT_STORED', { problem: errorText(error) });
    }
  }
}

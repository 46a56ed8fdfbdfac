import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { base64Decode, base64Encode } from '@bufbuild/protobuf/wire';
import { resolveAgentConfig } from '@platform/contract/agent-config';
import { agentOf } from '@platform/contract/device-structs';
import {
  DeviceAgentConfigResponseSchema,
  type DeviceAgentConfigResponse,
  type UpdateInfo,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import type { Cell, Log } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { settingsOf } from '../settings.ts';
import type { Release, Wanted } from '../state.ts';

const cacheFile = 'state/config.json';

/** The layers that are not the cloud's. */
export interface OwnLayers {
  commandLine: unknown;
  manufacturer: unknown;
  isFastStart: boolean;
}

/** What an answer of the cloud makes wanted on this machine. */
export function wantedOf(answer: DeviceAgentConfigResponse, layers: OwnLayers, isFresh: boolean): Wanted {
  const { agent, advancedSettings, networkConfiguration, additionalNetworks, systemConfiguration } = answer;
  const { config, corrections } = resolveAgentConfig({
    commandLine: layers.commandLine,
    cloud: agentOf({
      ...(agent && { agent }),
      ...(advancedSettings && { advancedSettings }),
      ...(networkConfiguration && { networkConfiguration }),
      ...(additionalNetworks && { additionalNetworks }),
      ...(systemConfiguration && { systemConfiguration }),
    }),
    manufacturer: layers.manufacturer,
    maintenanceWindow: answer.maintenanceWindow,
  });
  return {
    revision: Number(answer.revision),
    settings: settingsOf(config, layers),
    corrections: corrections.map(({ path, problem, used }) => ({ path, problem, used })),
    server: releaseOf(answer.serverUpdateInfo),
    agent: releaseOf(answer.agentUpdateInfo),
    isFresh,
  };
}

function releaseOf(update: UpdateInfo | undefined): Release | undefined {
  // An empty version once reached devices by mistake; nothing could be installed from it.
  if (!update || update.version === '' || update.url === '') return undefined;
  const sha256 = Array.from(update.sha256, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { url: update.url, version: update.version, sha256 };
}

/** Takes the cloud's answers in: cache first, then what is wanted. */
export class Intake {
  readonly #parts: { disk: Disk; wanted: Cell<Wanted>; layers: OwnLayers; log: Log };
  #fingerprint = '';
  #bytes = '';

  constructor(parts: { disk: Disk; wanted: Cell<Wanted>; layers: OwnLayers; log: Log }) {
    this.#parts = parts;
  }

  /** Of the answer that is in effect; empty: none. */
  get fingerprint(): string {
    return this.#fingerprint;
  }

  /** Starts from the last answer of an earlier run. Without a usable one, the defaults hold. */
  async loadCache(): Promise<void> {
    const { disk, wanted, layers, log } = this.#parts;
    const bytes = await disk.read(cacheFile);
    if (!bytes) return;
    try {
      const cached = JSON.parse(new TextDecoder().decode(bytes)) as { answer: string };
      const answer = fromBinary(DeviceAgentConfigResponseSchema, base64Decode(cached.answer));
      wanted.set(wantedOf(answer, layers, false));
      this.#fingerprint = answer.fingerprint;
      this.#bytes = cached.answer;
      log.info('starting from the cached configuration', { revision: wanted.get().revision });
    } catch (error) {
      log.warn('the cached configuration is damaged and not used', { error });
    }
  }

  /** True when it was news. */
  async accept(answer: DeviceAgentConfigResponse): Promise<boolean> {
    const { disk, wanted, layers, log } = this.#parts;
    const bytes = answer.notModified ? this.#bytes : base64Encode(toBinary(DeviceAgentConfigResponseSchema, answer));
    if (bytes === this.#bytes) {
      if (!wanted.get().isFresh) wanted.update((w) => ({ ...w, isFresh: true }));
      return false;
    }
    this.#bytes = bytes; // at once: the same answer may come by two calls
    this.#fingerprint = answer.fingerprint;
    await disk.write(cacheFile, new TextEncoder().encode(JSON.stringify({ answer: bytes })));
    const next = wantedOf(answer, layers, true);
    log.info('configuration received', {
      revision: next.revision,
      server: next.server?.version,
      agent: next.agent?.version,
    });
    for (const correction of next.corrections)
      log.warn('a bad value of the configuration was replaced', { ...correction });
    wanted.set(next);
    return true;
  }
}

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  ConfigRequestSchema,
  ConfigResponseSchema,
  type RobotConfig,
} from '@platform/contract/gen/platform/app/v1/robot_pb';
import { longestHoldMs } from '@platform/kit';
import type { Check, Present, ReadCheck } from './check.ts';
import type { ConfigAsk, MachineConfigs } from './machine-configs.ts';

const same = toBinary(ConfigResponseSchema, create(ConfigResponseSchema, { notModified: true }));

/**
 * Checks of machine servers. A check without a known revision is handled here, too, so that its connection stays a
 * light one.
 */
export function serverChecks(configs: MachineConfigs): ReadCheck {
  class ServerCheck implements Check {
    readonly known: string;
    readonly waitMs: number;
    readonly #ask: ConfigAsk;

    constructor(ask: ConfigAsk, known: string, waitMs: number) {
      this.#ask = ask;
      this.known = known;
      this.waitMs = waitMs;
    }
    get partId(): string {
      return this.#ask.partId;
    }
    now(): Present | undefined {
      const fingerprint = configs.known(this.#ask);
      return fingerprint === undefined ? undefined : { fingerprint, isUrgent: false };
    }
    async look(): Promise<Found> {
      const config = await configs.answer(this.#ask);
      return { fingerprint: config.revision, isUrgent: false, config };
    }
    same(): Uint8Array {
      return same;
    }
    whole({ config }: Found): Uint8Array {
      return toBinary(ConfigResponseSchema, create(ConfigResponseSchema, { config }));
    }
    watch(wake: () => void): () => void {
      return configs.watch(this.#ask.partId, wake);
    }
  }

  return (body, { baseUrl }) => {
    const { id, knownRevision, wait } = fromBinary(ConfigRequestSchema, body);
    if (id === '') return undefined;
    const waitMs = wait ? Math.min(durationMs(wait), longestHoldMs) : 0;
    return {
      check: new ServerCheck({ partId: id, baseUrl }, knownRevision, waitMs),
      isKnown: true,
      note: () => {},
      save: async () => {},
    };
  };
}

type Found = Present & { config: RobotConfig };

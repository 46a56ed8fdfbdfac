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
import { type DesiredViews, newViews, type ViewRequests, viewsField } from './view-requests.ts';

const same = toBinary(ConfigResponseSchema, create(ConfigResponseSchema, { notModified: true }));

type ServerDeps = { configs: MachineConfigs; live: ViewRequests };
/** `views` is undefined if the machine server does not know live views. */
type Known = { revision: string; views: string | undefined };

class ServerCheck implements Check {
  readonly waitMs: number;
  readonly #deps: ServerDeps;
  readonly #ask: ConfigAsk;
  readonly #revision: string;
  readonly #views: string | undefined;

  constructor(deps: ServerDeps, { ask, known, waitMs }: { ask: ConfigAsk; known: Known; waitMs: number }) {
    this.#deps = deps;
    this.#ask = ask;
    this.#revision = known.revision;
    this.#views = known.views;
    this.waitMs = waitMs;
  }
  get partId(): string {
    return this.#ask.partId;
  }
  get known(): string {
    return this.#revision === '' ? '' : fingerprintOf(this.#revision, this.#views);
  }
  now(): Present | undefined {
    const revision = this.#deps.configs.known(this.#ask);
    return revision === undefined ? undefined : presentOf(revision, this.#desired());
  }
  async look(): Promise<Found> {
    const config = await this.#deps.configs.answer(this.#ask);
    const desired = this.#desired();
    return { ...presentOf(config.revision, desired), config, desired };
  }
  same(): Uint8Array {
    return same;
  }
  whole({ config, desired }: Found): Uint8Array {
    const content = config.revision === this.#revision ? { notModified: true } : { config };
    const views = viewsField(newViews(desired, this.#views));
    return toBinary(ConfigResponseSchema, create(ConfigResponseSchema, { ...content, ...views }));
  }
  watch(wake: () => void): () => void {
    return this.#deps.configs.watch(this.#ask.partId, wake);
  }
  #desired(): DesiredViews | undefined {
    return this.#views === undefined ? undefined : this.#deps.live.desired(this.#ask.partId);
  }
}

/** Most machines have no live views: their fingerprint is the revision itself. */
const fingerprintOf = (revision: string, views: string | undefined): string =>
  views ? `${revision} ${views}` : revision;

const presentOf = (revision: string, desired: DesiredViews | undefined): Present => ({
  fingerprint: fingerprintOf(revision, desired?.state),
  isUrgent: false,
});

/**
 * Checks of machine servers. A check without a known revision is handled here, too, so that its connection stays a
 * light one.
 */
export const serverChecks =
  (deps: ServerDeps): ReadCheck =>
  (body, { baseUrl }) => {
    const { id, knownRevision: revision, knownViews: views, wait } = fromBinary(ConfigRequestSchema, body);
    if (id === '') return undefined;
    const waitMs = wait ? Math.min(durationMs(wait), longestHoldMs) : 0;
    return {
      check: new ServerCheck(deps, { ask: { partId: id, baseUrl }, known: { revision, views }, waitMs }),
      isKnown: true,
      note: () => deps.live.noteCheck(id, views !== undefined),
      save: async () => {},
    };
  };

type Found = Present & { config: RobotConfig; desired: DesiredViews | undefined };

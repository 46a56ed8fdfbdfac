import type { Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import type { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { errorText, pauseAfterFailure } from '@platform/kit';
import type { Clock, Log } from '@platform/kit';
import { serverSchemasJson, serverSchemasSha256 } from '../attributes.ts';
import { callTimeoutMs } from './link.ts';

/** The management server may have been restored from a backup, or have removed them. */
const repeatMs = 24 * 3_600_000;
const longestPauseMs = 10 * 60_000;

interface Deps {
  readonly fleet: Pick<Client<typeof FleetService>, 'storeServerSchemas'>;
  readonly partId: string;
  readonly clock: Clock;
  readonly log: Log;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Stores the schemas of this server at the management server, unless it has them. Without them, all else works. */
export async function reportSchemas(deps: Deps, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = deps;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await storeOnce(deps, signal);
      failures = 0;
      await clock.sleep(repeatMs * (0.5 + random()), signal);
    } catch (error) {
      if (signal.aborted) return;
      const { code } = ConnectError.from(error);
      // An older management server, or that of another product.
      if (code === Code.Unimplemented || code === Code.NotFound) return;
      if (code === Code.InvalidArgument) {
        log.warn('the management server refuses the schemas of this server', { problem: errorText(error) });
        return;
      }
      failures++;
      await clock.sleep(pauseAfterFailure({ failures, wasReached: false, longestMs: longestPauseMs, random }), signal);
    }
  }
}

async function storeOnce({ fleet, partId }: Deps, signal: AbortSignal): Promise<void> {
  const about = { partId, sha256: serverSchemasSha256 };
  const options = { signal, timeoutMs: callTimeoutMs };
  const { stored } = await fleet.storeServerSchemas(about, options);
  if (!stored) await fleet.storeServerSchemas({ ...about, schemasJson: serverSchemasJson }, options);
}

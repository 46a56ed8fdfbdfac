import { errorText } from '@platform/kit';
import { appliedFile } from '../config/applied.ts';
import { cacheFile, wantedBefore, type OwnLayers } from '../config/config-receiver.ts';
import { dropLines } from '../logs/spool-segments.ts';
import type { Device, Position } from '../os/ports.ts';
import { linesFile } from '../os/relay-places.ts';
import { stderrFile, stdoutFile } from '../server/watch.ts';
import { programNames } from '../versions/layout.ts';
import { lowerClearance } from '../versions/switch.ts';
import { forgetChecked, readChecked, writeChecked } from '../storage/checked-file.ts';
import type { Context } from '../health/context.ts';

const ownerFile = 'state/part.json';

/**
 * Drops what an earlier part left on this machine: log lines that wait for upload, output that was not read yet, the
 * cached configuration, and how often its quarantine was cleared. They must not reach another part, which may belong to another organization. Never throws.
 */
export async function claimState(
  of: Pick<Context, 'device' | 'wanted' | 'log'> & {
    partId: string;
    layers: OwnLayers;
    newId: () => string;
  },
): Promise<void> {
  const { device, partId, wanted, layers, newId, log } = of;
  const { disk } = device;
  // Without a record the machine is fresh, or its record was lost: what is there counts as that of this part.
  const { value: owner } = await readChecked(disk, ownerFile, partOf);
  if (owner === partId) return;
  if (owner !== undefined) {
    log.warn('the machine has the credentials of another part: the state of the earlier part is dropped', {
      before: owner,
      part: partId,
    });
    await dropLines(disk, await endsOf(device), newId()).catch((error: unknown) =>
      log.warn('log lines of the earlier part could not be dropped', { error: errorText(error) }),
    );
    for (const program of programNames)
      await lowerClearance(device.files, program, 0).catch((error: unknown) =>
        log.warn('the quarantine keeps the count of the earlier part', { program, error: errorText(error) }),
      );
    await forgetChecked(disk, cacheFile);
    await forgetChecked(disk, appliedFile);
    wanted.set(wantedBefore(layers));
  }
  // Removed first: a record of the earlier part would drop the lines of this one at the next start.
  await forgetChecked(disk, ownerFile);
  await writeChecked(disk, ownerFile, { part_id: partId }).catch((error: unknown) =>
    log.warn('the part of this machine is not recorded', { error: errorText(error) }),
  );
}

function partOf(value: unknown): string {
  const id = typeof value === 'object' && value !== null && 'part_id' in value ? value.part_id : undefined;
  if (typeof id !== 'string') throw new Error('"part_id" is missing');
  return id;
}

/** Where the output of the machine server ends now. */
async function endsOf({ lines }: Device): Promise<Record<string, Position>> {
  const files = { stderr: stderrFile, stdout: stdoutFile, lines: linesFile };
  const ends = await Promise.all(
    Object.entries(files).map(async ([source, file]) => [source, await lines.end(file)] as const),
  );
  return Object.fromEntries(ends);
}

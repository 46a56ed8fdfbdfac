import path from 'node:path';
import { createPlatformClient } from '@platform/client';
import { systemClock } from '@platform/kit/node';
import { readArchive } from '../archive.ts';
import { releaseKeyFolder } from '../data-folder.ts';
import { publishReleases } from '../up/releases.ts';
import { eventLog } from '../up/story.ts';
import { knownAccounts } from './accounts.ts';
import { type CertificateFiles, installCertificate, readPair } from './certificate.ts';
import { readFirstRun, writeKeysOfFirstStart } from './first-start.ts';
import { places, units } from './places.ts';
import { localUrl } from './readiness.ts';
import { sourcesFile } from './settings.ts';
import { attempt } from './system.ts';
import { readJson } from '@platform/kit/node';

/**
 * What an installed server needs from time to time: a renewed certificate, keys that were replaced, releases of agent
 * and machine server with documents that have not expired. Safe to repeat.
 */
export async function maintain(say: (text: string) => void): Promise<void> {
  const sources = (await readJson(sourcesFile)) as CertificateFiles | undefined;
  if (sources && (await installCertificate(readPair(sources), knownAccounts().server)))
    say('Installed the renewed certificate. The server uses it within a minute.');
  if (await writeKeysOfFirstStart()) attempt('systemctl', 'restart', '--no-block', units.runner);
  const [archive, keys] = [readArchive(), await readFirstRun()];
  if (!archive || !keys) return;
  if (keys.api_key === null) {
    say(
      'The first API key was rotated or deleted, so agent and machine server are not published. Publish them with "platform release publish".',
    );
    return;
  }
  const credentials = { type: 'api-key', authEntity: keys.api_key_id, payload: keys.api_key } as const;
  await publishReleases({
    releases: archive.releases,
    client: createPlatformClient({ baseUrl: await localUrl(), credentials }),
    keyFolder: releaseKeyFolder(places.data),
    clock: systemClock,
    record: eventLog(path.join(places.state, 'events.ndjson'), systemClock),
  });
}

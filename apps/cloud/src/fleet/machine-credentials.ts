import { PlatformError } from '@platform/contract/errors/errors';
import { installScriptCommand } from '@platform/contract/provisioning/install-command';
import type { Secrets } from '../access/secrets.ts';
import type { Database } from '../database/database.ts';
import { credentialsFile } from '../machines/rules/addresses.ts';
import { readPartSecrets } from '../machines/store/machines.ts';
import { authorityPem, authoritySha256, type Authority } from '../tls/authority.ts';

/** The credentials file of a part, and the command that installs its agent. @throws PlatformError PART_NOT_FOUND */
export async function credentialsOf(
  { db, secrets, authority: inUse }: { db: Database; secrets: Secrets; authority: () => Authority },
  partId: string,
  baseUrl: string,
): Promise<{ credentialsJson: string; installScriptCommand: string }> {
  const authority = inUse();
  const [newest] = await readPartSecrets(db, partId, secrets.sealingKey);
  if (!newest) throw new PlatformError('PART_NOT_FOUND', { partId });
  const { secret } = newest;
  return {
    credentialsJson: credentialsFile(baseUrl, { id: partId, secret }, authorityPem(authority)),
    installScriptCommand: installScriptCommand(baseUrl, authoritySha256(authority)),
  };
}

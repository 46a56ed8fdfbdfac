import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PackageURL } from 'packageurl-js';

/** Something of others that a release contains. */
export interface Component {
  readonly type: 'library' | 'application' | 'file' | 'machine-learning-model';
  readonly name: string;
  /** Undefined for libraries linked into another component that does not publish their versions. */
  readonly version?: string;
  /** SPDX expression. */
  readonly license: string;
  /** Package URL. */
  readonly purl?: string;
  readonly url?: string;
  /** 64 hex digits, of the file that is shipped. */
  readonly sha256?: string;
  /** License texts and notices that came with it. */
  readonly texts: readonly string[];
  /** What is linked into it. */
  readonly parts?: readonly Component[];
}

interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type?: string };
  readonly licenses?: readonly { readonly type?: string }[];
  readonly repository?: string | { readonly url?: string };
  readonly homepage?: string;
}

const textFile = /^(licen[cs]es?|copying|notice|third[-_]?party)/i;

export const sha256Of = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/**
 * The component that an installed npm package is.
 *
 * @param about - what package.json does not say or says wrong; `file`: the one file of the package that is shipped.
 */
export function packageComponent(
  folder: string,
  about: Partial<Pick<Component, 'type' | 'license' | 'parts' | 'texts'>> & { file?: string } = {},
): Component {
  const json = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as PackageJson;
  const { file, ...rest } = about;
  const url = urlOf(json);
  return {
    type: 'library',
    name: json.name,
    version: json.version,
    license: licenseOf(json),
    purl: npmUrl(json.name, json.version),
    ...(url !== undefined && { url }),
    ...(file !== undefined && { sha256: sha256Of(path.join(folder, file)) }),
    texts: foldersTo(file).flatMap((inside) => textsOf(path.join(folder, inside))),
    ...rest,
  };
}

/** The folders of a package down to one of its files: what is in `codec/` may have a license there. */
function foldersTo(file: string | undefined): string[] {
  const names = file?.split('/').slice(0, -1) ?? [];
  return ['.', ...names.map((_, at) => path.join(...names.slice(0, at + 1)))];
}

const textsOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && textFile.test(entry.name))
    .map(({ name }) => name)
    .toSorted()
    .map((name) => readFileSync(path.join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim());

function npmUrl(name: string, version: string): string {
  const [first = '', second] = name.split('/');
  const [namespace, bare] = second === undefined ? [undefined, first] : [first, second];
  return new PackageURL('npm', namespace, bare, version, undefined, undefined).toString();
}

/** Empty if package.json names none: the allow list then refuses it. */
function licenseOf({ license, licenses }: PackageJson): string {
  if (typeof license === 'string') return license.replace(/^\((.*)\)$/, '$1');
  return license?.type ?? licenses?.map(({ type }) => type ?? '').join(' OR ') ?? '';
}

/** An https address; shorthands of npm name a repository on GitHub. */
function urlOf({ repository, homepage }: PackageJson): string | undefined {
  const given = (typeof repository === 'string' ? repository : repository?.url) ?? homepage;
  if (given === undefined) return undefined;
  const plain = given
    .replace(/^git\+/, '')
    .replace(/^git@github\.com:/, 'https://github.com/')
    .replace(/^(git|ssh|http):\/\/(git@)?/, 'https://')
    .replace(/^github:/, '')
    .replace(/\.git$/, '');
  return /^[\w.-]+\/[\w.-]+$/.test(plain) ? `https://github.com/${plain}` : plain;
}

/**
 * Folders of the npm packages in a bundle, by the list of inputs that the bundler wrote.
 *
 * @param inputs - paths relative to `from`.
 */
export function bundledFolders(inputs: readonly string[], from: string): string[] {
  const folders = new Set<string>();
  for (const input of inputs) {
    const at = input.lastIndexOf('node_modules/');
    if (at < 0) continue;
    const { name } = splitPackage(input.slice(at + 'node_modules/'.length));
    folders.add(path.resolve(from, input.slice(0, at), 'node_modules', name));
  }
  return [...folders].toSorted();
}

/** Name of the package, and path in it, of a path below node_modules. */
export function splitPackage(below: string): { name: string; file: string } {
  const segments = below.split('/');
  const length = below.startsWith('@') ? 2 : 1;
  return { name: segments.slice(0, length).join('/'), file: segments.slice(length).join('/') };
}

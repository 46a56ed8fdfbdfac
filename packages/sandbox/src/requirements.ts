/** What a project requires and its Python lacks, as the program in the sandbox found it. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { Environment } from './environments.ts';

export interface MissingPackage {
  /** Name, extras and versions, such as `timm>=1.0`. */
  readonly text: string;
  /** The installed version, which does not fit; undefined: none. */
  readonly installed: string | undefined;
  /** The requirement whose extra needs it, such as `uvicorn[standard]`. */
  readonly neededBy: string | undefined;
}
export interface Requirements {
  readonly missing: readonly MissingPackage[];
  /** Lines that cannot be a requirement, with their place. */
  readonly invalid: readonly { readonly text: string; readonly at: string }[];
  /** For the log. */
  readonly notes: readonly string[];
}

const mostRequirements = 200;
const mostNotes = 20;
const mostShown = 10;
/** Name, extras, versions, marker; URLs, paths and pip options do not match. */
const requirementForm =
  /^[A-Za-z0-9][A-Za-z0-9._-]* *(\[[A-Za-z0-9._, -]*\])? *\(?[<>=!~0-9A-Za-z.*+, -]*\)? *(;[^\u0000-\u001f]*)?$/;

/** The project's own code runs beside the program, so its file is input of a user. Undefined: not understood. */
export function parseRequirements(value: unknown): Requirements | undefined {
  const { missing, invalid, notes } = fieldsOf(value);
  if (!Array.isArray(missing) || !Array.isArray(invalid) || !Array.isArray(notes)) return undefined;
  const packages = missing.map(fieldsOf).map(({ text, installed, needed_by: neededBy }) => ({
    text: textOf(text),
    installed: typeof installed === 'string' ? readable(installed) : undefined,
    neededBy: typeof neededBy === 'string' ? readable(neededBy) : undefined,
  }));
  const wrong = invalid.map(fieldsOf).map(({ text, at }) => ({ text: textOf(text), at: readable(textOf(at)) }));
  return { missing: packages, invalid: wrong, notes: notes.slice(0, mostNotes).map(textOf).map(readable) };
}
const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const readable = (text: string): string => text.slice(0, 300).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');

/** Requirements become arguments of pip: none of them may point to other sources than the operator's. */
export function checkRequirements({ missing, invalid }: Pick<Requirements, 'missing' | 'invalid'>): void {
  if (missing.length > mostRequirements) {
    const problem = `it asks for ${missing.length} packages; the limit is ${mostRequirements}`;
    throw new PlatformError('SCRIPT_BUILD_FAILED', { problem });
  }
  const bad = missing.find(({ text }) => text.length > 500 || !requirementForm.test(text));
  const wrong = invalid[0] ?? (bad && { text: bad.text, at: '' });
  if (wrong === undefined) return;
  const shown = JSON.stringify(readable(wrong.text).slice(0, 120));
  throw new PlatformError('SCRIPT_BUILD_FAILED', {
    problem: `${shown}${wrong.at === '' ? '' : ` in ${wrong.at}`} is not the name of a package with versions (no address, no path)`,
  });
}

/** For example `timm>=1.0 (not installed), numpy>=2 (1.24.2 is installed)`. */
export function describeMissing(missing: readonly MissingPackage[]): string {
  const shown = missing.slice(0, mostShown).map(({ text, installed, neededBy }) => {
    const by = neededBy === undefined ? '' : ` for ${neededBy}`;
    return `${text}${by} (${installed === undefined ? 'not installed' : `${installed} is installed`})`;
  });
  const rest = missing.length - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}

/** The failure where the operator allows no source of packages. */
export function packagesMissing(environment: Environment, missing: readonly MissingPackage[]): PlatformError {
  const words = missing.map(({ text }) => `'${text.split(';', 1).join('').trim()}'`);
  return new PlatformError('SCRIPT_PACKAGES_MISSING', {
    container: nameOf(environment),
    packages: describeMissing(missing),
    command: [environment.python, '-m pip install', ...words].join(' '),
  });
}

/** Packages whose module has another name. */
const packagesOf: Readonly<Record<string, string>> = {
  cv2: 'opencv-python-headless',
  PIL: 'pillow',
  skimage: 'scikit-image',
  sklearn: 'scikit-learn',
  yaml: 'PyYAML',
};

/** The module whose import ended a script; undefined if something else did. */
export const missingModule = (lastLines: readonly string[]): string | undefined =>
  /^(?:\w+\.)*ModuleNotFoundError: No module named '([\p{L}\p{N}_.]{1,200})'$/u.exec(
    lastLines.at(-1)?.trim() ?? '',
  )?.[1];

export function moduleMissing(environment: Environment, module: string): PlatformError {
  const name = packagesOf[module.split('.')[0] ?? ''];
  const known = name === undefined ? {} : { package: name };
  return new PlatformError('SCRIPT_MODULE_MISSING', { module, container: nameOf(environment), ...known });
}

const nameOf = ({ key, version }: Environment): string => `${key} (Python ${version})`;

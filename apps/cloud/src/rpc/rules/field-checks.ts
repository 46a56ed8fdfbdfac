import { tagWordProblem } from '@platform/contract/job/tag-words';
import { resultPathProblem } from '@platform/contract/job/result-files';
import { PlatformError } from '@platform/contract/errors/errors';
import { UNKNOWN_LABEL } from '@platform/contract/job/job';
import { idProblem, longestLabel, nameProblem } from '@platform/contract/text/names';
import type { BuiltInKind } from '@platform/contract/job/model-kinds';
import { isTrainerSetting, settingProblem, trainerSettings } from '@platform/contract/job/trainer-settings';

function invalid(field: string, value: string, limit: string): PlatformError {
  return new PlatformError('INVALID_ARGUMENT', { field, value: value.slice(0, 80).toWellFormed(), limit });
}

/** @throws PlatformError INVALID_ARGUMENT if the value is empty. */
export function filled(field: string, value: string): string {
  if (value === '') throw invalid(field, '', 'it must not be empty');
  return value;
}

/** Validates a new name, tag, label or version. @throws PlatformError INVALID_ARGUMENT */
export function newName(field: string, value: string, max = longestLabel): string {
  const problem = nameProblem(value, max);
  if (problem !== undefined) throw invalid(field, value === '' ? '' : JSON.stringify(value), problem);
  return value;
}

/** Validates a new tag of an image: a valid name that is not nearly a `split:` or `group:` tag. @throws INVALID_ARGUMENT */
export function newTag(field: string, value: string): string {
  const problem = tagWordProblem(newName(field, value));
  if (problem !== undefined) throw invalid(field, JSON.stringify(value), problem);
  return value;
}

/** Validates a new name of something that users may also name by its ID. @throws PlatformError INVALID_ARGUMENT */
export function nameBesideId(field: string, value: string): string {
  const problem = idProblem(newName(field, value));
  if (problem !== undefined) throw invalid(field, value, problem);
  return value;
}

/**
 * Validates an existing name, which may predate the rule for new ones: not empty, not too long, no control characters.
 */
export function shortText(field: string, value: string, max = longestLabel): string {
  filled(field, value);
  if (value.length > max) throw invalid(field, value, `at most ${max} characters`);
  if (/\p{Cc}/u.test(value)) throw invalid(field, JSON.stringify(value), 'no control characters');
  return value;
}

/** Validates the name of a model or package, which becomes a file name on machines. */
export function packageName(field: string, value: string): string {
  filled(field, value);
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(value)) {
    throw invalid(field, value, 'at most 128 letters, digits, _ and -, the first a letter or digit');
  }
  return value;
}

/** A version is free-form, but `latest` means the newest one. */
export function packageVersion(field: string, value: string): string {
  newName(field, value);
  if (value === 'latest') throw invalid(field, value, '"latest" stands for the newest version and cannot be one');
  if (value === '.' || value === '..') throw invalid(field, value, 'it must not be . or ..');
  return value;
}

/** Parses `<organization or namespace>:<name>` with exactly one colon. */
export function registryItemId(field: string, value: string): { owner: string; name: string } {
  const [owner, name, ...more] = filled(field, value).split(':');
  if (!owner || !name || more.length > 0) throw invalid(field, value, 'it must be <namespace>:<name>');
  return { owner, name };
}

/** Parses `<organization>/<name>`. */
export function packageId(field: string, value: string): { owner: string; name: string } {
  const [owner, name, ...more] = filled(field, value).split('/');
  if (!owner || !name || more.length > 0) throw invalid(field, value, 'it must be <organization id>/<name>');
  return { owner, name };
}

const maxArguments = 100;
const maxArgument = 4096;

/** Validates the arguments of a custom script, which become command line flags. */
export function scriptArguments(values: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(values);
  if (entries.length > maxArguments)
    throw invalid('arguments', `${entries.length} arguments`, `at most ${maxArguments}`);
  for (const [key, value] of entries) {
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(key)) {
      throw invalid(`arguments.${key.slice(0, 80)}`, key, 'keys have 1 to 128 letters, digits, _ and -');
    }
    if (value.length > maxArgument) throw invalid(`arguments.${key}`, value, `at most ${maxArgument} characters`);
    if (value.includes('\0')) throw invalid(`arguments.${key}`, JSON.stringify(value), 'no NUL characters');
  }
  return { ...values };
}

/** Validates the settings of a built-in trainer. Rejects unknown ones, which are typing errors. */
export function trainerArguments(values: Readonly<Record<string, string>>, kind: BuiltInKind): Record<string, string> {
  for (const [key, value] of Object.entries(values)) {
    if (!isTrainerSetting(key))
      throw invalid(`arguments.${key}`, value, `known settings: ${trainerSettings.join(', ')}`);
    const problem = settingProblem(key, value, kind);
    if (problem !== undefined) throw invalid(`arguments.${key}`, value, problem);
  }
  return { ...values };
}

/** Returns the labels to learn, each once, in the requested order. */
export function labels(values: readonly string[]): string[] {
  if (values.length > 1000) throw invalid('tags', `${values.length} labels`, 'at most 1000');
  const found = [...new Set(values.map((value, index) => shortText(`tags[${index}]`, value)))];
  if (found.includes(UNKNOWN_LABEL)) {
    throw invalid(
      'tags',
      UNKNOWN_LABEL,
      'this is the class of images without any of the labels; name the others alone',
    );
  }
  return found;
}

/** The same name and version train the same model from the same images. FNV-1a, 32 bits. */
export function seedOf(modelName: string, modelVersion: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${modelName}\0${modelVersion}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return hash;
}

/** Validates the path of a file in a package: relative and within the package. */
export function packagePath(field: string, value: string): string {
  const problem = resultPathProblem(filled(field, value));
  if (problem !== undefined) throw invalid(field, JSON.stringify(value), `it ${problem}`);
  return value;
}

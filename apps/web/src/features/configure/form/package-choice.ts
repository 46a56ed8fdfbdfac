// The model of a service, chosen from the registry: the entry of `packages` that the machine needs, and the paths in it.
import { isObject } from '@platform/contract/text/json-object';
import { jsonAt, readConfigText, setValue } from '../config-edit.ts';
import type { ConfigText } from '../config-edit.ts';
import type { FormField } from './form-rows.ts';
import type { JsonPath } from '../schema/json-path.ts';

export interface ChosenModel {
  readonly modelName: string;
  /** `<organization>/<model>`. */
  readonly packageId: string;
  /** A version, or "latest". */
  readonly version: string;
}

interface Named {
  readonly at: number;
  readonly name: string;
  readonly packageId: string;
  readonly version: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const packagesOf = (config: ConfigText): Named[] => {
  const list = jsonAt(config.json, ['packages']);
  return (Array.isArray(list) ? list : []).flatMap((one: unknown, at): Named[] =>
    isObject(one)
      ? [{ at, name: text(one['name']), packageId: text(one['package']), version: text(one['version']) || 'latest' }]
      : [],
  );
};

const inPackage = /^\$\{packages\.(?:[a-z_]+\.)?([A-Za-z0-9_-]+)\}/;

/** The entry of `packages` that one of these attributes is in. */
export function usedPackage(config: ConfigText, of: JsonPath, fields: readonly FormField[]): Named | undefined {
  const names = fields.flatMap(({ key }) => inPackage.exec(text(jsonAt(config.json, [...of, key])))?.[1] ?? []);
  return packagesOf(config).find(({ name }) => names.includes(name));
}

export const modelNameOf = (packageId: string): string => packageId.split('/').at(-1) ?? '';

/** How many other services have paths in a package. */
export function otherUsers(config: ConfigText, of: JsonPath, name: string): number {
  const services = jsonAt(config.json, ['services']);
  const isUser = (one: unknown): boolean =>
    isObject(one) &&
    isObject(one['attributes']) &&
    Object.values(one['attributes']).some((value) => inPackage.exec(text(value))?.[1] === name);
  return (Array.isArray(services) ? services : []).filter((one, at) => at !== of[1] && isUser(one)).length;
}

/**
 * Writes the choice: the package that the machine needs, once, and the paths of its files.
 *
 * @returns the text; undefined: `packages` is written in another form
 */
export function chooseModel(
  config: ConfigText,
  { of, fields }: { of: JsonPath; fields: readonly FormField[] },
  { modelName, packageId, version }: ChosenModel,
): string | undefined {
  const list = jsonAt(config.json, ['packages']);
  if (list !== undefined && !Array.isArray(list)) return undefined;
  const all = packagesOf(config);
  const used = usedPackage(config, of, fields);
  const isShared = used !== undefined && otherUsers(config, of, used.name) > 0;
  const equal = all.find((one) => one.packageId === packageId && one.version === version);
  // The own entry is changed in place; one that others use stays as it is.
  const own = used?.packageId === packageId && !isShared ? used : undefined;
  const entry = equal ?? own;
  let changed = config.text;
  if (entry === undefined) {
    const name = freeName(all, modelName);
    const added = JSON.stringify({ name, package: packageId, type: 'ml_model', version });
    changed = setValue(changed, ['packages', Array.isArray(list) ? list.length : 0], added);
  } else if (entry.version !== version)
    changed = setValue(changed, ['packages', entry.at, 'version'], JSON.stringify(version));
  const name = entry?.name ?? freeName(all, modelName);
  for (const { key, packageFile = '' } of fields) {
    const path = `\${packages.${name}}/${packageFile.replaceAll('{model}', modelName)}`;
    if (text(jsonAt(readConfigText(changed).json, [...of, key])) !== path)
      changed = setValue(changed, [...of, key], JSON.stringify(path));
  }
  return changed;
}

/** Names of packages have letters, digits, _ and -. */
function freeName(all: readonly Named[], modelName: string): string {
  const stem = modelName.replaceAll(/[^A-Za-z0-9_-]/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'model';
  const taken = new Set(all.map(({ name }) => name));
  if (!taken.has(stem)) return stem;
  let at = 2;
  while (taken.has(`${stem}-${at}`)) at++;
  return `${stem}-${at}`;
}

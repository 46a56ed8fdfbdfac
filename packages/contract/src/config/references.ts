// Checks references inside a configuration: between its entries, and to the models of the machine server.
import { isObject, type Json } from '../text/json-object.ts';
import { joined } from './reading.ts';
import type { Severity } from '../conditions/severity.ts';
import type { Problem } from './problem.ts';
import { lastWord, type ServerKnowledge, typeOf } from '../machine-server/resources.ts';

/** The machine server of a configuration. */
export interface ServerFacts {
  /** Undefined: its models are unknown. */
  readonly knowledge: ServerKnowledge | undefined;
  /** False: the machine may run another server by then, so an unknown model is only a warning. */
  readonly isCertain: boolean;
}

interface Entry {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly model: string;
  readonly json: Json;
}

/** All references to missing entries, and all entries that the server cannot run. */
export function referenceProblems(json: unknown, { knowledge, isCertain }: ServerFacts): Problem[] {
  if (!isObject(json)) return [];
  const entries = ['components', 'services'].flatMap((key) => entriesOf(json, key));
  // Fragments and remotes add entries that only the machine server knows.
  const isWhole = isEmpty(json['fragments']) && isEmpty(json['remotes']);
  const hasModules = !isEmpty(json['modules']);
  return [
    ...packageProblems(json, isWhole),
    ...(isWhole ? maintenanceProblems(json, entries, isCertain) : []),
    ...(knowledge
      ? [
          ...nameProblems(entries, isCertain),
          ...entries.flatMap((entry) => modelProblems(entry, knowledge, isCertain, hasModules)),
          ...(isWhole ? entries.flatMap((entry) => namedProblems(entry, entries, knowledge)) : []),
          ...typeProblems(json, knowledge, isCertain),
        ]
      : []),
  ];
}

const isEmpty = (value: unknown): boolean => !Array.isArray(value) || value.length === 0;
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const quoted = (value: string): string => JSON.stringify(value);
const listOf = (json: Json, key: string): readonly unknown[] => (Array.isArray(json[key]) ? json[key] : []);
const problem = (path: string, message: string, remedy: string, severity: Severity = 'error'): Problem => ({
  path,
  message,
  remedy,
  severity,
});

function entriesOf(json: Json, key: string): Entry[] {
  return listOf(json, key).flatMap((item, index) =>
    isObject(item)
      ? [
          {
            path: joined(key, index),
            name: text(item['name']),
            type: typeOf(item),
            model: text(item['model']),
            json: item,
          },
        ]
      : [],
  );
}

const packagePattern = /\$\{packages\.(?:[A-Za-z0-9_-]+\.)?([A-Za-z0-9_-]+)\}/g;

/** Checks `${packages.<name>}` and `${packages.<type>.<name>}` anywhere in the configuration. */
function packageProblems(json: Json, isWhole: boolean): Problem[] {
  if (!isWhole) return [];
  const names = listOf(json, 'packages').flatMap((item) => (isObject(item) ? [text(item['name'])] : []));
  const problems: Problem[] = [];
  const look = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      const missing = [...value.matchAll(packagePattern)].find(([, name = '']) => !names.includes(name))?.[1];
      if (missing !== undefined)
        problems.push(
          problem(path, `names package ${quoted(missing)}, which is not in packages.`, choose(names, 'packages')),
        );
    } else if (Array.isArray(value)) value.forEach((item, index) => look(item, joined(path, index)));
    else if (isObject(value)) for (const [key, item] of Object.entries(value)) look(item, joined(path, key));
  };
  for (const key of ['components', 'services', 'modules', 'processes', 'jobs']) look(json[key], key);
  return problems;
}

function choose(names: readonly string[], where: string): string {
  const known = names.filter((name) => name !== '');
  return known.length === 0
    ? `Add it to ${where}, or remove this entry.`
    : `Write one of ${known.slice(0, 10).map(quoted).join(', ')}, or add it to ${where}.`;
}

/** Without the sensor, a machine server allows every restart: a typing error would disable the protection. */
function maintenanceProblems(json: Json, entries: readonly Entry[], isCertain: boolean): Problem[] {
  const maintenance = json['maintenance'];
  const given = isObject(maintenance) ? text(maintenance['sensor_name']) : '';
  const name = given.split('/').at(-1) ?? '';
  if (name === '' || entries.some((entry) => entry.name === name)) return [];
  const sensors = entries.filter(({ type }) => type === 'sensor').map((entry) => entry.name);
  return [
    problem(
      'maintenance.sensor_name',
      `names ${quoted(name)}, and there is no such sensor.`,
      choose(sensors, 'components'),
      isCertain ? 'error' : 'warning',
    ),
  ];
}

/** Names must be unique across lists: the server looks them up without their kind. */
function nameProblems(entries: readonly Entry[], isCertain: boolean): Problem[] {
  const first = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    const other = first.get(entry.name);
    if (!other) first.set(entry.name, entry);
    // The schema check reports duplicates within one list.
    const isElsewhere = other && other.path.split('[')[0] !== entry.path.split('[')[0] && entry.name !== '';
    return isElsewhere
      ? [
          problem(
            `${entry.path}.name`,
            `must be unique: ${other.path} is named ${quoted(entry.name)} too.`,
            'Give it another name.',
            isCertain ? 'error' : 'warning',
          ),
        ]
      : [];
  });
}

function modelProblems(
  { path, type, model }: Entry,
  { models }: ServerKnowledge,
  isCertain: boolean,
  hasModules: boolean,
): Problem[] {
  const isOfModule = hasModules && model.includes(':') && !/^(?:rdk|platform):/.test(model);
  if (type === '' || isOfModule) return [];
  const severity = isCertain ? 'error' : 'warning';
  const ofType = models.filter((known) => known.type === type);
  if (ofType.length === 0) {
    const types = [...new Set(models.map((known) => known.type))];
    return [
      problem(
        `${path}.type`,
        `is ${quoted(type)}, which the machine server does not know.`,
        `Write one of ${types.map(quoted).join(', ')}.`,
        severity,
      ),
    ];
  }
  if (ofType.some((known) => known.model === lastWord(model))) return [];
  const choices = ofType.map((known) => quoted(known.model)).join(', ');
  return [
    problem(
      `${path}.model`,
      model === ''
        ? `is required for type ${quoted(type)}.`
        : `is ${quoted(model)}, and the machine server knows no such ${type}.`,
      `Write one of ${choices}.`,
      severity,
    ),
  ];
}

function namedProblems(entry: Entry, entries: readonly Entry[], { models }: ServerKnowledge): Problem[] {
  const { path, type, model, json } = entry;
  const attributes = json['attributes'];
  const known = models.find((one) => one.type === type && one.model === lastWord(model));
  if (!known || !isObject(attributes)) return [];
  return known.references.flatMap(({ attribute, type: wanted }) => {
    const name = attributes[attribute];
    const right = entries.filter((one) => one.type === wanted).map((one) => one.name);
    if (typeof name !== 'string' || name === '' || right.includes(name)) return [];
    return [
      problem(
        `${path}.attributes.${attribute}`,
        `names ${quoted(name)}, and there is no ${wanted} of that name.`,
        choose(right, wanted === 'mlmodel' ? 'services' : 'components'),
      ),
    ];
  });
}

function typeProblems(json: Json, { packageTypes }: ServerKnowledge, isCertain: boolean): Problem[] {
  return listOf(json, 'packages').flatMap((item, index) => {
    const type = isObject(item) ? text(item['type']) : '';
    if (type === '' || packageTypes.includes(type)) return [];
    return [
      problem(
        `packages[${index}].type`,
        `is ${quoted(type)}, which the machine server does not install.`,
        `Write one of ${packageTypes.map(quoted).join(', ')}.`,
        isCertain ? 'error' : 'warning',
      ),
    ];
  });
}

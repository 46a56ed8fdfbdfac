// What "Add" writes into a configuration, and the examples for an empty one.
import { isObject } from '@platform/contract/text/json-object';
import { jsonAt, setValue } from './config-edit.ts';
import type { ConfigText } from './config-edit.ts';
import type { JsonPath } from './schema/json-path.ts';

export interface Added {
  readonly text: string;
  /** The path of the added entry. */
  readonly path: JsonPath;
}

export interface Part {
  readonly title: string;
  readonly help: string;
  /** Undefined: the configuration is written in a way that has no place for it, or has it already. */
  readonly add: (config: ConfigText) => Added | undefined;
}

const isEmptyList = (value: unknown): boolean => !Array.isArray(value) || value.length === 0;
const listOf = (config: ConfigText, key: string): readonly unknown[] => {
  const value = jsonAt(config.json, [key]);
  return Array.isArray(value) ? value : [];
};

export const entriesOf = (config: ConfigText): Record<string, unknown>[] =>
  ['components', 'services'].flatMap((key) => listOf(config, key)).filter(isObject);

/** A name that no component or service has. */
export function freeName(config: ConfigText, stem: string): string {
  const taken = new Set(entriesOf(config).map(({ name }) => name));
  let at = 1;
  while (taken.has(`${stem}-${at}`)) at++;
  return `${stem}-${at}`;
}

/** The name of the first entry of a type, which a new one may read. */
export const nameOfType = (config: ConfigText, type: string): string | undefined =>
  entriesOf(config)
    .filter((one) => one['type'] === type)
    .map(({ name }) => name)
    .find((name) => typeof name === 'string');

export function append(config: ConfigText, key: string, entry: object): Added | undefined {
  const value = jsonAt(config.json, [key]);
  if (value !== undefined && !Array.isArray(value)) return undefined;
  const path = [key, listOf(config, key).length];
  return { text: setValue(config.text, path, JSON.stringify(entry)), path };
}

const versions = ['agent', 'version_control'];

const agent: Part = {
  title: 'Agent',
  help: 'Versions of agent and machine server, networks, system.',
  add: (config) =>
    jsonAt(config.json, ['agent']) === undefined
      ? { text: setValue(config.text, versions, '{"agent":"stable","platform-server":"stable"}'), path: ['agent'] }
      : undefined,
};
const camera: Part = {
  title: 'Camera',
  help: 'A camera on the network that answers with an image.',
  add: (config) =>
    append(config, 'components', {
      name: freeName(config, 'camera'),
      type: 'camera',
      model: 'http',
      attributes: { url: 'http://192.168.1.20/image.jpg' },
    }),
};
const folderCamera: Part = {
  ...camera,
  add: (config) =>
    append(config, 'components', {
      name: freeName(config, 'camera'),
      type: 'camera',
      model: 'folder',
      attributes: { path: '/var/images', interval_seconds: 1 },
    }),
};
const sensor: Part = {
  title: 'Sensor',
  help: 'A sensor with invented readings, to try one out.',
  add: (config) =>
    append(config, 'components', { name: freeName(config, 'sensor'), type: 'sensor', model: 'fake', attributes: {} }),
};
const model: Part = {
  title: 'Model',
  help: 'A trained model as files on the machine. The page of a model in Models has the entries of its package.',
  add: (config) =>
    append(config, 'services', {
      name: freeName(config, 'model'),
      type: 'mlmodel',
      model: 'onnx_cpu',
      attributes: { model_path: '/opt/models/model.onnx', label_path: '/opt/models/labels.txt' },
    }),
};
const capture: Part = {
  title: 'Data capture',
  help: 'Uploads an image of a camera at an interval.',
  add: (config) => {
    const name = nameOfType(config, 'camera');
    const added = name === undefined ? folderCamera.add(config) : { text: config.text, path: [] };
    if (added === undefined) return undefined;
    const json = JSON.parse(added.text) as unknown;
    const next = { ...config, text: added.text, json };
    return append(next, 'services', {
      name: freeName(next, 'capture'),
      type: 'data_manager',
      attributes: { camera: nameOfType(next, 'camera') ?? '', every_seconds: 60 },
    });
  },
};
const own: Part = {
  title: 'Your own',
  help: 'A component of a type and a model that your machine server knows.',
  add: (config) =>
    append(config, 'components', { name: freeName(config, 'component'), type: '', model: '', attributes: {} }),
};

export const parts: readonly Part[] = [agent, camera, sensor, model, capture, own];

/** Ready examples for an empty configuration. */
export const examples: readonly Part[] = [
  { title: 'Collect images', help: 'A camera from a folder of images, and a capture every minute.', add: capture.add },
  {
    title: 'Update at night',
    help: 'Stable versions, used between 02:00 and 04:00 in the time zone of the machine.',
    add: (config) => {
      const added = agent.add(config);
      const window = '{"from":"02:00","to":"04:00","time_zone":"device"}';
      return added && { text: setValue(added.text, ['maintenance_window'], window), path: ['maintenance_window'] };
    },
  },
  {
    title: 'A second network',
    help: 'Stable versions, and a WiFi network that the machine falls back to. Write its name and passkey.',
    add: (config) => {
      const added = agent.add(config);
      const path = ['agent', 'additional_networks', 0];
      return added && { text: setValue(added.text, path, '{"type":"wifi","ssid":"barn","psk":""}'), path };
    },
  },
];

/** Nothing is configured so far. */
export const isEmptyConfig = (json: unknown): boolean =>
  isObject(json) &&
  Object.values(json).every((value) => isEmptyList(value) && !(isObject(value) && Object.keys(value).length > 0));

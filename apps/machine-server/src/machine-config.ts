import type { JsonObject } from '@bufbuild/protobuf';
import type { RobotConfig } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { lastWord, platformServerKnowledge, typeOf } from '@platform/contract/machine-server/resources';
import { Attributes } from './attributes.ts';
import type { ConfigProblem } from './config-problem.ts';

/** The parsed configuration of this machine. Durations in ms. */
export interface MachineConfig {
  /** Revision of the saved configuration, 0: none yet. */
  readonly revision: number;
  /** SHA-256 of it as it was saved, hex; empty: none was saved, or the management server does not send it. */
  readonly configSha256: string;
  readonly resources: readonly ResourceSpec[];
  readonly packages: readonly PackageSpec[];
  readonly maintenance?: { readonly sensor: string; readonly key: string };
  /** Invalid entries, which are skipped, and missing ones; all others run. */
  readonly problems: readonly ConfigProblem[];
  /** Every component, service and package as written, valid or not. */
  readonly entries: readonly ConfigEntry[];
}

export interface ConfigEntry {
  /** For example services[0]. */
  readonly path: string;
  readonly name: string;
}

export type ResourceSpec =
  | { readonly is: 'folder camera'; readonly name: string; readonly folder: string; readonly intervalMs: number }
  | { readonly is: 'http camera'; readonly name: string; readonly url: string }
  | { readonly is: 'fake sensor'; readonly name: string; readonly readings: JsonObject }
  | {
      readonly is: 'model';
      readonly name: string;
      readonly modelPath: string;
      readonly labelPath: string;
      /** Answers VIAM_UNKNOWN for images unlike the training images. Absent: a label for every image. */
      readonly rejectUnlike?: true;
    }
  | {
      readonly is: 'classifier';
      readonly name: string;
      readonly camera: string;
      readonly model: string;
      readonly everyMs: number;
      readonly minimumScore: number;
    }
  | {
      readonly is: 'capture';
      readonly name: string;
      readonly camera: string;
      readonly everyMs: number;
      readonly datasetIds: readonly string[];
      readonly tags: readonly string[];
      readonly folder?: string;
      /** Uploads images with this model's results. */
      readonly predict?: { readonly model: string; readonly minimumScore: number };
    };

export interface PackageSpec {
  /** Name for references in the configuration: `${packages.<name>}`. */
  readonly name: string;
  /** `<organization ID>/<name>`. */
  readonly id: string;
  readonly version: string;
}

export const emptyConfig: MachineConfig = {
  revision: 0,
  configSha256: '',
  resources: [],
  packages: [],
  problems: [],
  entries: [],
};

const nameRule = 'at most 200 letters, digits, _, - and ., a letter or digit first';
const resourceName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$/;
const packageName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,199}$/;
const packageVersion = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/;

/** Never throws: invalid entries become problems, valid ones are returned. */
export function readMachineConfig(config: RobotConfig): MachineConfig {
  const problems: ConfigProblem[] = [];
  const resources = new Map<string, ResourceSpec>();
  const paths = new Map<string, string>();
  const read = (part: Part, path: string): void => {
    const attributes = new Attributes(part, `${path}.attributes`, problems);
    const before = problems.length;
    const spec = resource(part, attributes);
    const isName = resourceName.test(part.name);
    if (!isName) problems.push({ path: `${path}.name`, problem: `"${part.name}" is not a valid name: ${nameRule}` });
    else if (resources.has(part.name)) problems.push({ path: `${path}.name`, problem: `"${part.name}" is taken` });
    else if (spec === undefined) {
      const unknown = platformServerKnowledge.models.some(({ type }) => type === part.type) ? 'model' : 'type';
      problems.push({ path, problem: `it runs no ${part.type} "${part.model}"`, unknown });
    } else if (problems.length === before) {
      resources.set(part.name, spec);
      paths.set(part.name, `${path}.attributes`);
    }
  };
  for (const [i, component] of config.components.entries()) read(partOf(component), `components[${i}]`);
  for (const [i, service] of config.services.entries()) read(partOf(service), `services[${i}]`);
  for (const spec of resources.values()) problems.push(...danglingNames(spec, resources, paths.get(spec.name) ?? ''));
  const maintenance = config.maintenance;
  return {
    revision: Number(config.revisionNumber),
    configSha256: Buffer.from(config.configSha256).toString('hex'),
    resources: [...resources.values()],
    packages: readPackages(config, problems),
    ...(maintenance?.sensorName && {
      maintenance: { sensor: last(maintenance.sensorName.name, '/'), key: maintenance.maintenanceAllowedKey },
    }),
    problems,
    entries: [
      ...entriesOf('components', config.components),
      ...entriesOf('services', config.services),
      ...entriesOf('packages', config.packages),
    ],
  };
}

const entriesOf = (key: string, list: readonly { readonly name: string }[]): ConfigEntry[] =>
  list.map(({ name }, index) => ({ path: `${key}[${index}]`, name }));

/** References to missing resources; the resource runs and waits for them. */
function danglingNames(spec: ResourceSpec, all: ReadonlyMap<string, ResourceSpec>, path: string): ConfigProblem[] {
  const check = (key: string, name: string, isRight: (other: ResourceSpec) => boolean): ConfigProblem[] => {
    const other = all.get(name);
    return other && isRight(other) ? [] : [{ path: `${path}.${key}`, problem: `there is no ${key} named "${name}"` }];
  };
  if (spec.is !== 'classifier' && spec.is !== 'capture') return [];
  const model = spec.is === 'classifier' ? spec.model : spec.predict?.model;
  return [
    ...check('camera', spec.camera, ({ is }) => is === 'folder camera' || is === 'http camera'),
    ...(model === undefined ? [] : check('mlmodel', model, ({ is }) => is === 'model')),
  ];
}

interface Part {
  readonly name: string;
  readonly type: string;
  readonly model: string;
  readonly attributes?: JsonObject;
}

function partOf(of: {
  name: string;
  type: string;
  api: string;
  model: string;
  attributes?: JsonObject | undefined;
}): Part {
  return {
    name: of.name,
    type: typeOf(of),
    model: lastWord(of.model),
    ...(of.attributes && { attributes: of.attributes }),
  };
}

const last = (text: string, separator: string): string => text.split(separator).at(-1) ?? '';

function resource({ name, type, model }: Part, attributes: Attributes): ResourceSpec | undefined {
  switch (`${type} ${model}`) {
    case 'camera folder':
      return {
        is: 'folder camera',
        name,
        folder: attributes.text('path'),
        intervalMs: attributes.number('interval_seconds') * 1000,
      };
    case 'camera http':
      return { is: 'http camera', name, url: attributes.text('url') };
    case 'sensor fake':
      return { is: 'fake sensor', name, readings: attributes.object('readings') };
    case 'mlmodel onnx_cpu':
      return {
        is: 'model',
        name,
        modelPath: attributes.text('model_path'),
        labelPath: attributes.text('label_path'),
        ...(attributes.flag('reject_unlike') && { rejectUnlike: true }),
      };
    // Both names mean the same: the metadata of the model file determines the task.
    case 'vision classifier':
    case 'vision detector':
      return {
        is: 'classifier',
        name,
        camera: attributes.text('camera'),
        model: attributes.text('mlmodel'),
        everyMs: attributes.number('every_seconds') * 1000,
        minimumScore: attributes.number('minimum_score'),
      };
    // A data manager has only one model; it may be omitted.
    case 'data_manager ':
    case 'data_manager builtin': {
      const folder = attributes.optionalText('capture_folder');
      const predictor = attributes.optionalText('mlmodel');
      const least = attributes.number('minimum_score');
      return {
        is: 'capture',
        name,
        camera: attributes.text('camera'),
        everyMs: attributes.number('every_seconds') * 1000,
        datasetIds: attributes.texts('dataset_ids'),
        tags: attributes.texts('tags'),
        ...(folder !== undefined && { folder }),
        ...(predictor !== undefined && { predict: { model: predictor, minimumScore: least } }),
      };
    }
    default:
      return undefined;
  }
}

function readPackages(config: RobotConfig, problems: ConfigProblem[]): PackageSpec[] {
  const packages = new Map<string, PackageSpec>();
  for (const [i, { name, package: id, version, type }] of config.packages.entries()) {
    const wrong = (key: string, problem: string) => problems.push({ path: `packages[${i}].${key}`, problem });
    if (!packageName.test(name)) wrong('name', 'it must be at most 200 letters, digits, _ and -, a letter first');
    else if (packages.has(name)) wrong('name', `"${name}" is taken`);
    else if (!/^[^/]+\/[^/]+$/.test(id)) wrong('package', 'it must be <organization ID>/<name>');
    else if (!packageVersion.test(version)) wrong('version', `"${version}" is not a version`);
    else if (type !== 'ml_model') wrong('type', `this server uses packages of type ml_model only, not "${type}"`);
    else packages.set(name, { name, id, version });
  }
  return [...packages.values()];
}

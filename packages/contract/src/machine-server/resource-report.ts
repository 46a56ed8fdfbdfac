/**
 * A machine server's report on every entry of its configuration and on its models: GET /resource_status. The agent
 * forwards it; docs/machine-server.md describes it in prose. Optional: a server without it keeps working.
 */
import type { ResourceModel, ServerKnowledge } from './resources.ts';
import { objectOf, parseObject } from '../text/json-object.ts';

export const resourceStates = ['ready', 'waiting', 'failed', 'unhealthy'] as const;

export interface ResourceState {
  /** Name of the component, service or package; may be empty. */
  readonly name: string;
  /** Path in the configuration, for example services[0] or services[0].attributes.camera. */
  readonly path: string;
  /**
   * ready: as configured. waiting: for a dependency, which `error` may name. failed: not as configured; its previous
   * form may still run. unhealthy: as configured, but currently unable to work.
   */
  readonly state: (typeof resourceStates)[number];
  /** ms since 1970. */
  readonly sinceWall: number;
  readonly error?: ResourceError;
}

export interface ResourceError {
  /** Code of the error table, or the server's own code. */
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
}

export interface ResourceReport {
  /** Revision of the configuration that the report is about. */
  readonly revision: number;
  readonly resources: readonly ResourceState[];
  /** Absent: the server does not report its models. */
  readonly knowledge?: ServerKnowledge;
}

/** JSON body of GET /resource_status. */
export function resourceReportJson({ revision, resources, knowledge }: ResourceReport): Record<string, unknown> {
  return {
    revision,
    resources: resources.map(({ sinceWall, ...one }) => ({ ...one, since: new Date(sinceWall).toISOString() })),
    ...(knowledge && { models: knowledge.models, package_types: knowledge.packageTypes }),
    ...(knowledge?.schemasSha256 !== undefined && { schemas_sha256: knowledge.schemasSha256 }),
  };
}

const mostResources = 2_000;
const mostModels = 500;
const longestText = 500;

/** Parses a body of GET /resource_status; skips invalid entries. Undefined if it is not such a response. */
export function parseResourceReport(body: string): ResourceReport | undefined {
  const json = parseObject(body);
  const revision = json?.['revision'];
  if (!json || !Number.isSafeInteger(revision) || (revision as number) < 0 || !Array.isArray(json['resources']))
    return undefined;
  const { models, package_types: packageTypes, schemas_sha256: schemasSha256 } = json;
  return {
    revision: revision as number,
    resources: json['resources'].slice(0, mostResources).flatMap(stateOf),
    ...(Array.isArray(models) && {
      knowledge: {
        models: models.slice(0, mostModels).flatMap(modelOf),
        packageTypes: (Array.isArray(packageTypes) ? packageTypes : []).filter(isText).slice(0, mostModels),
        ...(isText(schemasSha256) && /^[0-9a-f]{64}$/.test(schemasSha256) && { schemasSha256 }),
      },
    }),
  };
}

function stateOf(given: unknown): ResourceState[] {
  const json = objectOf(given);
  const state = resourceStates.find((one) => one === json?.['state']);
  if (!json || !state) return [];
  const error = objectOf(json['error']);
  const since = Date.parse(text(json['since']));
  return [
    {
      name: text(json['name']),
      path: text(json['path']),
      state,
      sinceWall: Number.isNaN(since) ? 0 : since,
      ...(error && {
        error: { code: text(error['code']), message: text(error['message']), remedy: text(error['remedy']) },
      }),
    },
  ];
}

function modelOf(given: unknown): ResourceModel[] {
  const json = objectOf(given);
  if (!json || !isText(json['type'])) return [];
  const references = Array.isArray(json['references']) ? json['references'] : [];
  return [
    {
      kind: json['kind'] === 'component' ? 'component' : 'service',
      type: text(json['type']),
      model: text(json['model']),
      references: references.flatMap((one: unknown) => {
        const { attribute, type } = objectOf(one) ?? {};
        return isText(attribute) && isText(type) ? [{ attribute: text(attribute), type: text(type) }] : [];
      }),
    },
  ];
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const text = (value: unknown): string => (isText(value) ? value.slice(0, longestText) : '');

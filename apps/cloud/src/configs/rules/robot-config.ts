import {
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import {
  ComponentConfigSchema,
  JobConfigSchema,
  LogPatternConfigSchema,
  ModuleConfigSchema,
  NetworkConfigSchema,
  PackageConfigSchema,
  ProcessConfigSchema,
  RemoteConfigSchema,
  type RobotConfigSchema,
  ServiceConfigSchema,
  TracingConfigSchema,
} from '@platform/contract/gen/platform/app/v1/robot_pb';
import { isObject, type Json } from '@platform/contract/text/json-object';

type RobotConfigInit = MessageInitShape<typeof RobotConfigSchema>;

/**
 * Keys of a saved configuration with a field of their own in RobotConfig. The others go to `other`, except `agent`,
 * which only agents read.
 */
const listSchemas = {
  components: ComponentConfigSchema,
  services: ServiceConfigSchema,
  packages: PackageConfigSchema,
  processes: ProcessConfigSchema,
  modules: ModuleConfigSchema,
  remotes: RemoteConfigSchema,
  jobs: JobConfigSchema,
  log: LogPatternConfigSchema,
} as const;
const elsewhere: ReadonlySet<string> = new Set([
  ...Object.keys(listSchemas),
  'agent',
  'maintenance_window',
  'maintenance',
  'network',
  'tracing',
  'debug',
  'disable_log_deduplication',
  'enable_web_profile',
  'cloud',
]);

/**
 * Converts a saved configuration to the form that machine servers read.
 *
 * @param packageVersion - resolves `latest` to a version; undefined: there is none.
 * @returns `skipped`: paths of entries that no machine server could read.
 */
export async function robotConfigOf(
  saved: Json,
  packageVersion: (name: string) => Promise<string | undefined>,
): Promise<{ config: RobotConfigInit; skipped: string[] }> {
  const skipped: string[] = [];
  const list = <D extends DescMessage>(key: keyof typeof listSchemas, schema: D): MessageShape<D>[] => {
    const given = saved[key];
    return (Array.isArray(given) ? given : []).flatMap((item: unknown, index) => {
      const read = message(schema, item);
      if (!read) skipped.push(`${key}[${index}]`);
      return read ? [read] : [];
    });
  };
  const maintenance = saved['maintenance'];
  const network = saved['network'] === undefined ? undefined : message(NetworkConfigSchema, saved['network']);
  const tracing = saved['tracing'] === undefined ? undefined : message(TracingConfigSchema, saved['tracing']);
  const packages = list('packages', PackageConfigSchema);
  for (const item of packages) {
    if (item.version === '' || item.version === 'latest')
      item.version = (await packageVersion(item.package)) ?? item.version;
  }
  return {
    skipped,
    config: {
      components: list('components', ComponentConfigSchema),
      services: list('services', ServiceConfigSchema),
      packages,
      processes: list('processes', ProcessConfigSchema),
      modules: list('modules', ModuleConfigSchema),
      remotes: list('remotes', RemoteConfigSchema),
      jobs: list('jobs', JobConfigSchema),
      log: list('log', LogPatternConfigSchema),
      ...(network && { network }),
      ...(tracing && { tracing }),
      ...(typeof saved['debug'] === 'boolean' && { debug: saved['debug'] }),
      disableLogDeduplication: saved['disable_log_deduplication'] === true,
      enableWebProfile: saved['enable_web_profile'] === true,
      ...(isObject(maintenance) && {
        maintenance: {
          sensorName: sensorName(maintenance['sensor_name']),
          maintenanceAllowedKey: String(maintenance['maintenance_allowed_key'] ?? ''),
        },
      }),
      other: Object.fromEntries(Object.entries(saved).filter(([key]) => !elsewhere.has(key))) as JsonObject,
    },
  };
}

/**
 * Ignores unknown keys, which newer servers read. A component's frame has another form in JSON, so its readers use
 * `other`.
 */
function message<D extends DescMessage>(schema: D, item: unknown): MessageShape<D> | undefined {
  if (!isObject(item)) return undefined;
  const { frame: _frame, ...rest } = item;
  const known = schema.fields.some((field) => field.name === 'frame') ? rest : item;
  try {
    return fromJson(schema, known as JsonValue as JsonObject, { ignoreUnknownFields: true });
  } catch {
    return undefined;
  }
}

/** A short name, or namespace:type:subtype/name. */
function sensorName(given: unknown): { namespace: string; type: string; subtype: string; name: string } {
  const text = typeof given === 'string' ? given : '';
  const found = /^([^:]*):([^:]*):([^/]*)\/(.+)$/.exec(text);
  const [, namespace = 'rdk', type = 'component', subtype = 'sensor', name = text] = found ?? [];
  return { namespace, type, subtype, name };
}

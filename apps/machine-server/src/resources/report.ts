import { createHash } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';
import { resourceReportJson } from '@platform/contract/machine-server/resource-report';
import type { ResourceError, ResourceReport, ResourceState } from '@platform/contract/machine-server/resource-report';
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';
import { errorText, WallHistory } from '@platform/kit';
import type { Cell, Clock } from '@platform/kit';
import type { Attempts } from '../attempts.ts';
import { serverSchemasSha256 } from '../attributes.ts';
import type { ConfigProblem } from '../config-problem.ts';
import type { MachineConfig, ResourceSpec } from '../machine-config.ts';
import { packageKey } from '../plans/packages.ts';
import { keyOf, resolve } from '../plans/resources.ts';
import type { InstalledPackage, Want } from '../plans/resources.ts';
import { version } from '../version.ts';
import type { RunningResources } from './running.ts';

interface Deps {
  readonly wanted: Cell<MachineConfig>;
  readonly goal: Cell<Want>;
  readonly installed: Cell<ReadonlyMap<string, InstalledPackage>>;
  readonly running: RunningResources;
  readonly attempts: Attempts;
  readonly packageAttempts: Attempts;
  readonly clock: Clock;
}

/** Where the configuration of a camera names its source: what fails while it runs. */
const sourceFields: Readonly<Partial<Record<ResourceSpec['is'], string>>> = {
  'folder camera': 'attributes.path',
  'http camera': 'attributes.url',
};

type Found = Omit<ResourceState, 'sinceWall'>;

/** Reports the state of every configured entry, and since when. */
export class ResourceReporter {
  readonly #deps: Deps;
  /** First observation of each state, by path, state and code: messages may contain changing values. */
  #since = new Map<string, number>();
  readonly #history: WallHistory;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#history = new WallHistory(deps.clock);
  }

  /** `etag` changes with the report. */
  read(): { report: ResourceReport; etag: string } {
    const { wanted, clock } = this.#deps;
    const since = new Map<string, number>();
    const resources = this.#states().map((found): ResourceState => {
      const key = `${found.path} ${found.state} ${found.error?.code ?? ''}`;
      const noted = this.#since.get(key) ?? Math.round(clock.wall());
      since.set(key, noted);
      return { ...found, sinceWall: this.#history.since(noted) ?? noted };
    });
    this.#since = since;
    const knowledge = { ...platformServerKnowledge, schemasSha256: serverSchemasSha256 };
    const report = { revision: wanted.get().revision, resources, knowledge };
    const text = JSON.stringify(resourceReportJson(report));
    return { report, etag: createHash('sha256').update(text).digest('base64url').slice(0, 16) };
  }

  #states(): Found[] {
    const { entries, problems } = this.#deps.wanted.get();
    return entries.flatMap(({ path, name }): Found[] => {
      const wrong = problems.filter((one) => one.path === path || one.path.startsWith(`${path}.`));
      if (wrong.length > 0)
        return wrong.map((one) => ({ name, path: placeOf(one), state: 'failed', error: ofProblem(one) }));
      return [{ name, path, ...(path.startsWith('packages[') ? this.#ofPackage(name) : this.#ofResource(name, path)) }];
    });
  }

  #ofPackage(name: string): Pick<Found, 'state' | 'error'> {
    const { wanted, installed, packageAttempts } = this.#deps;
    const spec = wanted.get().packages.find((one) => one.name === name);
    const there = installed.get().get(name);
    if (!spec || (there?.id === spec.id && there.version === spec.version)) return { state: 'ready' };
    const failure = packageAttempts.error(packageKey(spec));
    if (failure !== undefined) return { state: 'failed', error: rowOf(failure, name) };
    return { state: 'waiting', error: waits(name, `version ${spec.version} of ${spec.id}`) };
  }

  /** With the path of the field that is wrong, if the failure is of one. */
  #ofResource(name: string, path: string): Pick<Found, 'state' | 'error'> & { path?: string } {
    const { wanted, goal, running, attempts } = this.#deps;
    const spec = wanted.get().resources.find((one) => one.name === name);
    if (!spec) return { state: 'waiting' };
    const resolved = resolve(spec, goal.get().packages);
    if (!resolved.ok) return { state: 'waiting', error: waits(name, `package "${resolved.waitsFor}"`) };
    const key = keyOf(resolved.spec);
    if (running.keys().get(name) === key) {
      const failure = running.failure(name);
      if (failure === undefined) return { state: 'ready' };
      const cause = this.#causeOf(failure, name);
      if (cause !== undefined) return { state: 'unhealthy', error: waits(name, cause) };
      const field = sourceFields[spec.is];
      return { state: 'unhealthy', ...(field && { path: `${path}.${field}` }), error: rowOf(failure, name) };
    }
    const failure = attempts.error(key);
    return failure === undefined ? { state: 'waiting' } : { state: 'failed', error: rowOf(failure, name) };
  }

  /** Another entry of the configuration that fails, and has its own place in the report; undefined: none. */
  #causeOf(failure: unknown, name: string): string | undefined {
    if (!(failure instanceof PlatformError)) return undefined;
    if (failure.code !== 'CAMERA_FAILED' && failure.code !== 'RESOURCE_NOT_FOUND') return undefined;
    const cause = failure.data['name'];
    const entry = this.#deps.wanted.get().entries.find((one) => one.name === cause && one.name !== name);
    return entry && `"${entry.name}" at ${entry.path}`;
  }
}

const row = ({ code, what, remedy }: PlatformError): ResourceError => ({ code, message: what, remedy });
const waits = (name: string, what: string): ResourceError => row(new PlatformError('RESOURCE_WAITS', { name, what }));
/** Path of the unknown word itself. */
const placeOf = ({ path, unknown }: ConfigProblem): string => (unknown ? `${path}.${unknown}` : path);
const ofProblem = ({ path, problem, unknown }: ConfigProblem): ResourceError =>
  row(
    unknown
      ? new PlatformError('RESOURCE_UNKNOWN', { version, path, problem })
      : new PlatformError('RESOURCE_INVALID', { path, problem }),
  );
const rowOf = (failure: unknown, name: string): ResourceError =>
  row(
    failure instanceof PlatformError
      ? failure
      : new PlatformError('RESOURCE_FAILED', { name, problem: errorText(failure) }, failure),
  );

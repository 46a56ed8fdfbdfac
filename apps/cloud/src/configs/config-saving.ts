import { bySeverity } from '@platform/contract/conditions/severity';
import { create } from '@bufbuild/protobuf';
import { isObject } from '@platform/contract/text/json-object';
import { configLimitBytes, parseConfigText } from '@platform/contract/config/text';
import { checkConfig, type Problem } from '@platform/contract/config/config';
import { hasPlaceholder, keepSecrets, type KeptSecrets } from '@platform/contract/config/placeholders';
import { duplicateKeys } from '@platform/contract/config/duplicates';
import { effectProblems } from '@platform/contract/config/effect';
import { referenceProblems } from '@platform/contract/config/references';
import { PlatformError } from '@platform/contract/errors/errors';
import { nameProblem } from '@platform/contract/text/names';
import { ConfigProblemsSchema, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Secrets } from '../access/secrets.ts';
import { contentHash } from './secret-marks.ts';
import { forbiddenNames } from './new-names.ts';
import { packageProblems } from './package-problems.ts';
import type { ReleaseCache } from '../releases/release-cache.ts';
import { machineFacts, serverFacts } from '../machines/rules/machine-facts.ts';
import { type Caller, ownsMachine } from '../access/rules/permissions.ts';
import { refusals } from './rules/named-in-config.ts';
import { robotConfigOf } from './rules/robot-config.ts';
import { type DesiredProgram, desiredProgramsOf } from '../releases/rules/desired-programs.ts';
import { actorOf } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import type { Changes } from '../database/changes.ts';
import { fragmentsFor, fragmentsOf, type FragmentSource, type MergedConfig, mergeFragments } from './merged-config.ts';
import { lockFragments } from './store/fragments.ts';
import { type ConfigRow, type Expected, findConfig, insertConfig, requireConfig } from './store/configs.ts';
import type { Database } from '../database/database.ts';
import type { PartRow } from '../machines/store/machines.ts';
import type { JsonObject } from '../database/schema.ts';
import { versionProblems } from './version-problems.ts';

const severities = { error: Severity.ERROR, warning: Severity.WARNING, note: Severity.NOTE } as const;
export const problemMessage = ({ severity, ...problem }: Problem) => ({ ...problem, severity: severities[severity] });

/** gRPC sends them in a header, which clients limit in size; CheckConfig returns all. */
export const problemsInError = 50;

/** What a text says: with its secrets, and all that is wrong with it. */
type ReadConfig = Pick<MergedConfig, 'used' | 'hashes' | 'placed'> & {
  text: string;
  problems: Problem[];
  /** With its fragments. */
  config: JsonObject;
  /** Saved secrets stand in it. */
  isFilledIn: boolean;
};

/** A text that a user wrote. */
type GivenConfig = {
  text: string;
  /** The revision whose secrets placeholders stand for before those of the newest one; 0: the newest. */
  secretsOf?: number;
};

type SavedTexts = () => Promise<readonly string[]>;

/**
 * Like `readConfig`, for the machine that has the configuration, and for the caller: names of packages and datasets that
 * it may not use are errors, unless the newest revision has them. Errors that the newest revision already has in entries
 * of the machine server become warnings. It was saved under older rules or before the server was known, and must not
 * block other changes.
 *
 * @returns `comparedWith`: the revision whose names and errors were compared; undefined: none.
 */
export async function readConfigOf(
  { db, releases }: { db: Database; releases: ReleaseCache },
  caller: Caller,
  part: PartRow,
  { text, secretsOf = 0 }: GivenConfig,
): Promise<ReadConfig & { comparedWith: number | undefined }> {
  let saved: ConfigRow | undefined;
  const newest = async (): Promise<ConfigRow | undefined> => (saved ??= await findConfig(db, part.id));
  const read = await readConfig(releases, text, {
    part,
    fragments: fragmentsFor(db, caller, part.orgId, newest),
    secrets: async () => [
      ...(secretsOf > 0 ? [(await requireConfig(db, part, secretsOf)).text] : []),
      (await newest())?.text ?? '{}',
    ],
  });
  const { problems: ofText, config } = read;
  const named = { orgId: part.orgId, config };
  const forbidden = await forbiddenNames(db, caller, named, async () => (await newest())?.config ?? {});
  const paths = new Set(forbidden.map(({ path }) => path));
  const ofNames = [...refusals(forbidden), ...(await packageProblems(db, part.orgId, config, paths))].map(read.placed);
  const before = ofText.some(isOfEntry) ? await newest() : undefined;
  const known = new Set(
    before && before.revision > 0
      ? (await readConfig(releases, before.text, { part, fragments: fragmentsOf(db, part.orgId) })).problems
          .filter(isOfEntry)
          .map(identified)
      : [],
  );
  const problems = ofText.map((one): Problem =>
    isOfEntry(one) && known.has(identified(one)) ? { ...one, severity: 'warning' } : one,
  );
  return { ...read, problems: [...problems, ...ofNames].toSorted(bySeverity), comparedWith: saved?.revision };
}

export const identified = ({ path, message }: Problem): string => `${path} ${message}`;

const isOfEntry = ({ path, severity }: Problem): boolean =>
  severity === 'error' && path !== '' && !/^(?:agent|maintenance_window)\b/.test(path);

/**
 * Reads and checks the text of a configuration.
 *
 * @param of - `part`: of the machine that the configuration is for; undefined: any machine. `secrets`: texts whose secrets
 *   placeholders stand for; the first that has a value counts. `fragments`: undefined: they stay unmerged.
 */
export async function readConfig(
  releases: ReleaseCache,
  given: string,
  {
    part,
    secrets = async () => [],
    fragments,
  }: { part?: Pick<PartRow, 'host' | 'report'>; secrets?: SavedTexts; fragments?: FragmentSource } = {},
): Promise<ReadConfig> {
  requireSize(given);
  const written = parseConfigText(given);
  if (written.is === 'problem') {
    const { problem } = written;
    return { text: given, ...(await mergeFragments({}, undefined)), problems: [problem], isFilledIn: false };
  }
  const kept = hasPlaceholder(given) ? keepSecrets(given, await secrets()) : noSecrets(given);
  const { text } = kept;
  requireSize(text);
  const json: unknown = JSON.parse(text);
  const merged = await mergeFragments(isObject(json) ? { ...json } : {}, fragments);
  const placeholders = new Set(kept.problems.map(({ path }) => path));
  const ofForm = [
    ...kept.problems,
    ...merged.problems,
    ...[...duplicateKeys(text), ...checkConfig(isObject(json) ? merged.config : json).map(merged.placed)].filter(
      ({ path }) => !placeholders.has(path),
    ),
  ];
  const problems = await withMachineProblems(releases, merged, ofForm, part);
  return { ...merged, text, problems, isFilledIn: kept.values.length > 0 };
}

/** Adds what is wrong for this machine, and with the versions that it names, where the form is right. */
async function withMachineProblems(
  releases: ReleaseCache,
  { config, placed }: MergedConfig,
  ofForm: readonly Problem[],
  part: Pick<PartRow, 'host' | 'report'> | undefined,
): Promise<Problem[]> {
  const wrong = new Set(ofForm.filter(({ severity }) => severity === 'error').map(({ path }) => path));
  const facts = machineFacts(part);
  const { platform, agent } = facts;
  const { skipped } = await robotConfigOf(config, async () => undefined);
  const ofMachine = [
    ...skipped.map(unreadable).filter((one) => ![...wrong].some((path) => path.startsWith(placed(one).path))),
    ...(await versionProblems(releases, config, platform, agent ? 'platform' : 'reference')),
    ...referenceProblems(config, serverFacts(config, facts)),
    ...(agent ? effectProblems(config, agent) : []),
  ]
    .map(placed)
    .filter(({ path }) => !wrong.has(path));
  // The server's checks of versions are more specific than those of the schema.
  const known = new Set(ofMachine.map(({ path }) => path));
  return [...ofForm.filter(({ path, severity }) => severity === 'error' || !known.has(path)), ...ofMachine].toSorted(
    bySeverity,
  );
}

/** @throws PlatformError CONFIG_TOO_LARGE */
export function requireSize(text: string): void {
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > configLimitBytes)
    throw new PlatformError('CONFIG_TOO_LARGE', { sizeBytes, limitBytes: configLimitBytes });
}

const noSecrets = (text: string): KeptSecrets => ({ text, problems: [], values: [] });

const unreadable = (path: string): Problem => ({
  path,
  message: 'cannot be read by a machine server: a member has the wrong type.',
  remedy: 'Check the types of its members, for example that "attributes" is an object.',
  severity: 'error',
});

const longestComment = 500;

/** @throws PlatformError INVALID_ARGUMENT */
export function checkedComment(comment: string): string {
  const problem = nameProblem(comment, longestComment);
  if (problem === undefined) return comment;
  const limit = `a text of at most ${longestComment} characters on one line: ${problem}`;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'comment', value: JSON.stringify(comment.slice(0, 40)), limit });
}

type SaveDeps = { db: Database; changes: Changes; releases: ReleaseCache; secrets: Secrets };

/** A fragment may be saved while a configuration that uses it is. */
const mostTries = 3;

/**
 * Checks and saves the next revision. Saves nothing if there is an error.
 *
 * @throws PlatformError INVALID_CONFIG with the first problems in its details, CONFIG_CONFLICT, UNSIGNED_PIN_REFUSED.
 */
export async function saveConfig(
  deps: SaveDeps,
  caller: Caller,
  part: PartRow,
  { comment = '', ...given }: GivenConfig & { comment?: string },
  expected: Expected,
): Promise<{ revision: number; problems: Problem[] }> {
  const why = comment === '' ? '' : checkedComment(comment);
  for (let tries = 1; ; tries++) {
    const read = await readConfigOf(deps, caller, part, given);
    refuseErrors(read.problems);
    const revision = await writeConfig(deps, caller, part, { ...read, comment: why }, expected);
    if (revision !== undefined) return { revision, problems: read.problems };
    if (tries === mostTries) throw new PlatformError('FRAGMENT_MOVED', { tries });
  }
}

/** @returns undefined: a fragment changed since it was read. */
function writeConfig(
  { db, changes, secrets }: SaveDeps,
  caller: Caller,
  part: PartRow,
  read: ReadConfig & { comparedWith: number | undefined; comment: string },
  expected: Expected,
): Promise<number | undefined> {
  const { text, config, comparedWith, isFilledIn, comment, used, hashes } = read;
  const { orgId, id: partId } = part;
  return audited({ db, changes }, caller, async (trx, record) => {
    if (!(await areCurrent(trx, used))) return undefined;
    const sha256 = contentHash(text, secrets.sealingKey, hashes);
    const saved = await insertConfig(
      trx,
      { orgId, partId, text, config, savedBy: actorOf(caller), comment, sha256, fragments: used },
      // The secrets are those of this revision.
      isFilledIn ? { revision: comparedWith ?? 0, ...expected } : expected,
    );
    const before = saved > 1 ? await findConfig(trx, partId, saved - 1) : undefined;
    // Another caller may have removed names since they were compared.
    if (comparedWith !== saved - 1)
      await requireNames(trx, caller, { orgId, config, configBefore: before?.config ?? {} });
    const added = newUnsignedPins(config, before?.config ?? {});
    // An owner consents to an unsigned file by saving it; other callers cannot consent.
    if (added.length > 0 && !ownsMachine(caller, part))
      throw new PlatformError('UNSIGNED_PIN_REFUSED', { pins: added.join(', ') });
    await record(
      { orgId, action: 'save config', subject: partId, details: { revision: saved, ...namesOfFragments(used) } },
      ['config', partId],
    );
    if (added.length > 0) {
      const details = { revision: saved, pins: added };
      await record({ orgId, action: 'consent to unsigned programs', subject: partId, details });
    }
    return saved;
  });
}

/** Locks the fragments, so that none changes until the end of the transaction. @returns false: one has changed. */
async function areCurrent(trx: Database, used: ReadConfig['used']): Promise<boolean> {
  const newest = await lockFragments(trx, [...new Set(used.map(({ id }) => id))]);
  return used.every(({ id, revision, isPinned }) => newest.has(id) && (isPinned || newest.get(id) === revision));
}

const namesOfFragments = (used: ReadConfig['used']): JsonObject =>
  used.length === 0 ? {} : { fragments: used.map(({ name, revision }) => `${name} ${revision}`) };

/** URLs of the unsigned program files that a configuration names and the one before does not. */
export function newUnsignedPins(config: JsonObject, before: JsonObject): string[] {
  const known = unsignedPins(before);
  return unsignedPins(config)
    .filter((pin) => !known.some((one) => one.program === pin.program && one.text === pin.text))
    .map(({ text: address }) => address);
}

function refuseErrors(problems: readonly Problem[]): void {
  const errors = problems.filter((problem) => problem.severity === 'error');
  const [first] = errors;
  if (!first) return;
  const details = create(ConfigProblemsSchema, { problems: problems.slice(0, problemsInError).map(problemMessage) });
  throw new PlatformError(
    'INVALID_CONFIG',
    { count: errors.length, path: first.path || '(whole)', problem: first.message.replace(/\.$/, '') },
    undefined,
    [{ desc: ConfigProblemsSchema, value: details }],
  );
}

/**
 * Requires that the caller itself may use what the configuration names and the one before does not.
 *
 * @throws PlatformError INVALID_CONFIG
 */
export async function requireNames(
  db: Database,
  caller: Caller,
  { orgId, config, configBefore }: { orgId: string; config: JsonObject; configBefore: JsonObject },
): Promise<void> {
  refuseErrors(refusals(await forbiddenNames(db, caller, { orgId, config }, async () => configBefore)));
}

/** Program files pinned by URL, without a release signature. */
const unsignedPins = (config: JsonObject): DesiredProgram[] =>
  desiredProgramsOf(config).filter(({ desired }) => desired.is === 'file');

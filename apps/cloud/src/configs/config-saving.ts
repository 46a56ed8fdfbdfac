import { create } from '@bufbuild/protobuf';
import { isObject } from '@platform/contract/json-object';
import { configLimitBytes, parseConfigText } from '@platform/contract/config-text';
import { checkConfig, type Problem } from '@platform/contract/config';
import { hasPlaceholder, keepSecrets, type KeptSecrets } from '@platform/contract/config-placeholders';
import { duplicateKeys } from '@platform/contract/config-duplicates';
import { effectProblems } from '@platform/contract/config-effect';
import { referenceProblems } from '@platform/contract/config-references';
import { PlatformError } from '@platform/contract/errors';
import { nameProblem } from '@platform/contract/names';
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
import { type ConfigRow, type Expected, findConfig, insertConfig, requireConfig } from './store/configs.ts';
import type { Database } from '../database/database.ts';
import type { PartRow } from '../machines/store/machines.ts';
import type { JsonObject } from '../database/schema.ts';
import { versionProblems } from './version-problems.ts';

const severities = { error: Severity.ERROR, warning: Severity.WARNING, note: Severity.NOTE } as const;
export const problemMessage = ({ severity, ...problem }: Problem) => ({ ...problem, severity: severities[severity] });

/** gRPC sends them in a header, which clients limit in size; CheckConfig returns all. */
const problemsInError = 50;

/** What a text says: with its secrets, and all that is wrong with it. */
type ReadConfig = {
  text: string;
  problems: Problem[];
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
    secrets: async () => [
      ...(secretsOf > 0 ? [(await requireConfig(db, part, secretsOf)).text] : []),
      (await newest())?.text ?? '{}',
    ],
  });
  const { problems: ofText, config } = read;
  const named = { orgId: part.orgId, config };
  const forbidden = await forbiddenNames(db, caller, named, async () => (await newest())?.config ?? {});
  const paths = new Set(forbidden.map(({ path }) => path));
  const ofNames = [...refusals(forbidden), ...(await packageProblems(db, part.orgId, config, paths))];
  const before = ofText.some(isOfEntry) ? await newest() : undefined;
  const known = new Set(
    before && before.revision > 0
      ? (await readConfig(releases, before.text, { part })).problems.filter(isOfEntry).map(placed)
      : [],
  );
  const problems = ofText.map((one): Problem =>
    isOfEntry(one) && known.has(placed(one)) ? { ...one, severity: 'warning' } : one,
  );
  return { ...read, problems: [...problems, ...ofNames].toSorted(bySeverity), comparedWith: saved?.revision };
}

const placed = ({ path, message }: Problem): string => `${path} ${message}`;

const rank = { error: 0, warning: 1, note: 2 } as const;
const bySeverity = (a: Problem, b: Problem): number => rank[a.severity] - rank[b.severity];

const isOfEntry = ({ path, severity }: Problem): boolean =>
  severity === 'error' && path !== '' && !/^(?:agent|maintenance_window)\b/.test(path);

/**
 * Reads and checks the text of a configuration.
 *
 * @param of - `part`: of the machine that the configuration is for; undefined: any machine. `secrets`: texts whose secrets
 *   placeholders stand for; the first that has a value counts.
 */
export async function readConfig(
  releases: ReleaseCache,
  given: string,
  { part, secrets = async () => [] }: { part?: Pick<PartRow, 'host' | 'report'>; secrets?: SavedTexts } = {},
): Promise<ReadConfig> {
  requireSize(given);
  const written = parseConfigText(given);
  if (written.is === 'problem') return { text: given, problems: [written.problem], config: {}, isFilledIn: false };
  const kept = hasPlaceholder(given) ? keepSecrets(given, await secrets()) : noSecrets(given);
  const { text } = kept;
  requireSize(text);
  const json: unknown = JSON.parse(text);
  const config = isObject(json) ? { ...json } : {};
  const placeholders = new Set(kept.problems.map(({ path }) => path));
  const ofForm = [
    ...kept.problems,
    ...[...duplicateKeys(text), ...checkConfig(json)].filter(({ path }) => !placeholders.has(path)),
  ];
  const wrong = new Set(ofForm.filter(({ severity }) => severity === 'error').map(({ path }) => path));
  const facts = machineFacts(part);
  const { platform, agent } = facts;
  const { skipped } = await robotConfigOf(config, async () => undefined);
  const ofMachine = [
    ...skipped.filter((path) => ![...wrong].some((one) => one.startsWith(path))).map(unreadable),
    ...(await versionProblems(releases, config, platform, agent ? 'platform' : 'reference')),
    ...referenceProblems(config, serverFacts(config, facts)),
    ...(agent ? effectProblems(config, agent) : []),
  ].filter(({ path }) => !wrong.has(path));
  // The server's checks of versions are more specific than those of the schema.
  const known = new Set(ofMachine.map(({ path }) => path));
  const problems = [...ofForm.filter(({ path, severity }) => severity === 'error' || !known.has(path)), ...ofMachine];
  return { text, problems: problems.toSorted(bySeverity), config, isFilledIn: kept.values.length > 0 };
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
function checkedComment(comment: string): string {
  const problem = nameProblem(comment, longestComment);
  if (problem === undefined) return comment;
  const limit = `a text of at most ${longestComment} characters on one line: ${problem}`;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'comment', value: JSON.stringify(comment.slice(0, 40)), limit });
}

/**
 * Checks and saves the next revision. Saves nothing if there is an error.
 *
 * @throws PlatformError INVALID_CONFIG with the first problems in its details, CONFIG_CONFLICT, UNSIGNED_PIN_REFUSED.
 */
export async function saveConfig(
  { db, changes, releases, secrets }: { db: Database; changes: Changes; releases: ReleaseCache; secrets: Secrets },
  caller: Caller,
  part: PartRow,
  { comment = '', ...given }: GivenConfig & { comment?: string },
  expected: Expected,
): Promise<{ revision: number; problems: Problem[] }> {
  const why = comment === '' ? '' : checkedComment(comment);
  const { text, problems, config, comparedWith, isFilledIn } = await readConfigOf(
    { db, releases },
    caller,
    part,
    given,
  );
  refuseErrors(problems);
  const revision = await audited({ db, changes }, caller, async (trx, record) => {
    const saved = await insertConfig(
      trx,
      {
        orgId: part.orgId,
        partId: part.id,
        text,
        config,
        savedBy: actorOf(caller),
        comment: why,
        sha256: contentHash(text, secrets.sealingKey),
      },
      // The secrets are those of this revision.
      isFilledIn ? { revision: comparedWith ?? 0, ...expected } : expected,
    );
    const before = saved > 1 ? await findConfig(trx, part.id, saved - 1) : undefined;
    // Another caller may have removed names since they were compared.
    if (comparedWith !== saved - 1)
      await requireNames(trx, caller, { orgId: part.orgId, config, configBefore: before?.config ?? {} });
    const known = unsignedPins(before?.config ?? {});
    const added = unsignedPins(config)
      .filter((pin) => !known.some((one) => one.program === pin.program && one.text === pin.text))
      .map(({ text: address }) => address);
    // An owner consents to an unsigned file by saving it; other callers cannot consent.
    if (added.length > 0 && !ownsMachine(caller, part))
      throw new PlatformError('UNSIGNED_PIN_REFUSED', { pins: added.join(', ') });
    const { orgId, id: subject } = part;
    await record({ orgId, action: 'save config', subject, details: { revision: saved } }, ['config', subject]);
    if (added.length > 0) {
      const details = { revision: saved, pins: added };
      await record({ orgId, action: 'consent to unsigned programs', subject, details });
    }
    return saved;
  });
  return { revision, problems };
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

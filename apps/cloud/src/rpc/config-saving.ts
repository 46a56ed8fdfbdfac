import { create } from '@bufbuild/protobuf';
import { isObject } from '@platform/contract/config-field';
import { readAgent } from '@platform/contract/config-reading';
import { parseConfigText } from '@platform/contract/config-text';
import { checkConfig, type Problem } from '@platform/contract/config';
import { PlatformError } from '@platform/contract/errors';
import { ConfigProblemsSchema, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { type Caller, requireMachineOwner } from '../rules/permissions.ts';
import { versionWish } from '../rules/update-info.ts';
import { actorOf, audit } from '../store/audit.ts';
import type { Changes } from '../store/changes.ts';
import { type Expected, findConfig, insertConfig } from '../store/configs.ts';
import type { Database } from '../store/database.ts';
import type { PartRow } from '../store/machines.ts';
import type { JsonObject } from '../store/schema.ts';

const severities = { error: Severity.ERROR, warning: Severity.WARNING, note: Severity.NOTE } as const;
export const problemMessage = ({ severity, ...problem }: Problem) => ({ ...problem, severity: severities[severity] });

const limitBytes = 1024 * 1024;
/** Over gRPC they travel in a header, which clients limit; CheckConfig tells all. */
const problemsInError = 50;

/** Everything wrong with the text of a configuration, and what it says when nothing is. */
export function readConfig(text: string): { problems: Problem[]; config: JsonObject } {
  if (Buffer.byteLength(text) > limitBytes) throw new PlatformError('MESSAGE_TOO_LARGE', { limitBytes });
  const parsed = parseConfigText(text);
  if (parsed.is === 'problem') return { problems: [parsed.problem], config: {} };
  return { problems: checkConfig(parsed.json), config: isObject(parsed.json) ? { ...parsed.json } : {} };
}

/**
 * Checks and saves the next revision. With any error nothing is saved.
 *
 * @throws PlatformError INVALID_CONFIG with every problem in its details, CONFIG_CONFLICT, NOT_OWNER.
 */
export async function saveConfig(
  { db, changes }: { db: Database; changes: Changes },
  caller: Caller,
  part: PartRow,
  text: string,
  expected: Expected,
): Promise<{ revision: number; problems: Problem[] }> {
  const { problems, config } = readConfig(text);
  const errors = problems.filter((problem) => problem.severity === 'error');
  const [first] = errors;
  if (first) {
    const details = create(ConfigProblemsSchema, { problems: problems.slice(0, problemsInError).map(problemMessage) });
    throw new PlatformError(
      'INVALID_CONFIG',
      { count: errors.length, path: first.path || '(whole)', problem: first.message },
      undefined,
      [{ desc: ConfigProblemsSchema, value: details }],
    );
  }
  const pins = unsignedPins(config);
  const before = unsignedPins((await findConfig(db, part.id))?.config ?? {});
  const added = pins.filter((pin) => !before.includes(pin));
  // Saving a file without a published hash as an owner is the consent; nobody else can give it.
  if (added.length > 0)
    requireMachineOwner(caller, part, () => new PlatformError('PART_NOT_FOUND', { partId: part.id }));
  const revision = await db.transaction().execute(async (trx) => {
    const saved = await insertConfig(
      trx,
      { orgId: part.orgId, partId: part.id, text, config, savedBy: actorOf(caller) },
      expected,
    );
    await audit(trx, {
      orgId: part.orgId,
      caller,
      action: 'save config',
      subject: part.id,
      details: { revision: saved, ...(added.length > 0 && { unsigned: added }) },
    });
    return saved;
  });
  changes.tell('config', part.id);
  return { revision, problems };
}

/** Program files named by address, whose bytes nobody has vouched for. */
function unsignedPins(config: JsonObject): string[] {
  const agent = config['agent'];
  const versions = isObject(agent) ? readAgent(agent).agent['version_control'] : undefined;
  return (isObject(versions) ? Object.values(versions) : []).flatMap((value) => {
    const wish = versionWish(value);
    return wish.is === 'url' ? [wish.url] : [];
  });
}

import type { Caller } from '../access/rules/permissions.ts';
import type { Database } from '../database/database.ts';
import type { JsonObject } from '../database/schema.ts';
import { type ConfigName, mayNameAll, namesIn, newNames, packageNamed } from './rules/named-in-config.ts';
import { arePublic } from './store/public-packages.ts';

/** Limit of lookups; new names beyond it count as not readable. */
const mostPackages = 500;

/**
 * The names that the configuration adds to the revision before, and that the caller itself may not use: packages that
 * it may not read, datasets that it may not add data to. The machine may use what its configuration names, so who saves
 * a name gives it to everybody who has the machine's secret.
 *
 * @param configBefore - the revision before; called only for callers with limited rights.
 */
export async function forbiddenNames(
  db: Database,
  caller: Caller,
  { orgId, config }: { orgId: string; config: JsonObject },
  configBefore: () => Promise<JsonObject>,
): Promise<ConfigName[]> {
  if (mayNameAll(caller, orgId)) return [];
  const names = namesIn(config);
  if (names.length === 0) return [];
  const added = newNames(names, namesIn(await configBefore()));
  const wanted = [...new Set(added.flatMap(({ kind, name }) => (kind === 'package' ? [name] : [])))]
    .flatMap((text) => {
      const named = packageNamed(text, orgId);
      return named ? [{ text, named }] : [];
    })
    .slice(0, mostPackages);
  const answers = await arePublic(
    db,
    wanted.map(({ named }) => named),
  );
  const open = new Set(wanted.filter((_, index) => answers[index]).map(({ text }) => text));
  return added.filter(({ kind, name }) => kind === 'dataset' || !open.has(name));
}

import { hideSecrets } from '@platform/contract/config/placeholders';
import type { JsonObject, UsedFragment } from '../database/schema.ts';

/** The fragments of a revision, as messages. */
export const usedFragments = ({ fragments }: { fragments: readonly UsedFragment[] | null }) =>
  (fragments ?? []).map(({ id, name, revision, isPinned }) => ({
    id,
    name,
    revision: BigInt(revision),
    pinned: isPinned,
  }));

/** The configuration with its fragments, for all readers but its machine; empty: it has none. */
export const mergedJsonOf = ({
  fragments,
  config,
}: {
  fragments: readonly UsedFragment[] | null;
  config: JsonObject;
}) => (fragments === null ? '' : hideSecrets(JSON.stringify(config, null, 2)));

import type { RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import { Visibility } from '@platform/contract/gen/platform/app/v1/app_pb';
import { msOf } from '../../../ui/times.ts';

export interface ScriptView {
  itemId: string;
  organizationId: string;
  name: string;
  description: string;
  url: string;
  isDraft: boolean;
  visibility: Visibility;
  /** Newest first. */
  versions: readonly { version: string; created: number | undefined }[];
}

export const visibilityTexts: Readonly<Record<number, string>> = {
  [Visibility.PRIVATE]: 'private',
  [Visibility.PUBLIC]: 'public',
  [Visibility.PUBLIC_UNLISTED]: 'public, not listed',
};

export const listScripts = (items: readonly RegistryItem[]): ScriptView[] =>
  items.flatMap((item) => {
    if (item.metadata.case !== 'mlTrainingMetadata') return [];
    const { draft, versions } = item.metadata.value;
    return [
      {
        itemId: item.itemId,
        organizationId: item.organizationId,
        name: item.name,
        description: item.description,
        url: item.url,
        isDraft: draft,
        visibility: item.visibility,
        versions: versions.map((one) => ({ version: one.version, created: msOf(one.createdOn) })),
      },
    ];
  });

/** Parses "a=1" lines as arguments of a script; the problem describes the first invalid or duplicate line. */
export function argumentLines(text: string): { args: Record<string, string>; problem: string | undefined } {
  const args: Record<string, string> = {};
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue;
    const at = line.indexOf('=');
    const key = line.slice(0, Math.max(at, 0)).trim();
    if (!/^[A-Za-z0-9_-]+$/.test(key))
      return { args, problem: `“${line}” is not of the form key=value; keys have letters, digits, _ and -.` };
    if (Object.hasOwn(args, key)) return { args, problem: `${key} is given twice.` };
    args[key] = line.slice(at + 1).trim();
  }
  return { args, problem: undefined };
}

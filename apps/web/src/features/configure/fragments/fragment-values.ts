import {
  type FragmentContent,
  type FragmentUse,
  readFragmentUses,
  resolveFragments,
} from '@platform/contract/config/fragments';
import { isObject, parseObject } from '@platform/contract/text/json-object';
import type { Fragment } from '@platform/contract/gen/platform/app/v1/app_pb';
import { jsonAt, setValue } from '../config-edit.ts';
import { formatPath } from '../schema/json-path.ts';
import type { JsonPath } from '../schema/json-path.ts';
import { formatCount } from '../../../ui/quantities.ts';

/** A value that a fragment gives where the machine has none of its own. */
export interface FragmentValue {
  fragmentId: string;
  name: string;
  value: unknown;
}

/** One entry of `fragments` in the draft. */
export interface UsedFragment extends FragmentUse {
  /** Undefined: the fragment is not known, or may not be used. */
  fragment: Fragment | undefined;
}

/** The fragments that a draft names; none while it is not JSON. */
export function usedFragments(draft: string, known: readonly Fragment[]): UsedFragment[] {
  const { uses } = readFragmentUses(parseObject(draft) ?? {});
  return uses.map((use) => ({
    ...use,
    fragment: known.find(
      ({ id, revision }) => id === use.id && (use.version === undefined || revision === String(use.version)),
    ),
  }));
}

/** What the fragments of a draft give, without the values of the machine itself. */
export function fragmentValues(draft: string, used: readonly UsedFragment[]) {
  const { fragments, fragment_mods } = parseObject(draft) ?? {};
  const contentOf = (use: FragmentUse): FragmentContent | undefined => {
    const { fragment } = used.find(({ path }) => path === use.path) ?? {};
    return fragment && { name: fragment.name, config: fragment.fragment ?? {} };
  };
  const { config, sourceOf } = resolveFragments({ fragments, fragment_mods }, contentOf);
  return (path: JsonPath): FragmentValue | undefined => {
    const value = jsonAt(config, path);
    const { fragment } = sourceOf(formatPath(path));
    return value === undefined || !fragment ? undefined : { fragmentId: fragment.id, name: fragment.name, value };
  };
}

/** A value as a short text for the form. */
export function shortValue(value: unknown): string {
  if (Array.isArray(value)) return formatCount(value.length, 'entry', 'entries');
  if (isObject(value)) return formatCount(Object.keys(value).length, 'entry', 'entries');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** The draft with one more fragment, after those that it has. */
export function addFragment(draft: string, id: string): string {
  const given = jsonAt(JSON.parse(draft) as unknown, ['fragments']);
  const at = Array.isArray(given) ? given.length : 0;
  return setValue(
    draft,
    Array.isArray(given) ? ['fragments', at] : ['fragments'],
    JSON.stringify(at > 0 || Array.isArray(given) ? id : [id]),
  );
}

/** "2 machines and others", "no machine": those that the user may not see are not counted. */
export function usersOf({ robotPartCount, usedElsewhere }: Pick<Fragment, 'robotPartCount' | 'usedElsewhere'>): string {
  const counted = robotPartCount === 0 ? [] : [formatCount(robotPartCount, 'machine')];
  return [...counted, ...(usedElsewhere ? ['others'] : [])].join(' and ') || 'no machine';
}

/** "2 components, 1 service, agent" */
export function contentsOf(config: Readonly<Record<string, unknown>>): string {
  const named = Object.entries(config).map(([key, value]) =>
    Array.isArray(value) ? formatCount(value.length, key.replace(/s$/, '')) : key,
  );
  return named.join(', ');
}

import { checkConfig, type Problem } from '@platform/contract/config/config';
import { duplicateKeys } from '@platform/contract/config/duplicates';
import { hasPlaceholder, keepSecrets } from '@platform/contract/config/placeholders';
import { joined } from '@platform/contract/config/reading';
import { parseConfigText } from '@platform/contract/config/text';
import {
  fragmentLimits,
  isWithin,
  secretVariables,
  variableIn,
  withVariables,
} from '@platform/contract/config/fragments';
import { isObject } from '@platform/contract/text/json-object';
import { PlatformError } from '@platform/contract/errors/errors';

/** The text of a fragment: with its secrets, and what is wrong with it on every machine. */
export type FragmentText = { text: string; config: { [key: string]: unknown }; problems: Problem[] };

/**
 * Reads and checks the text of a fragment.
 *
 * @param saved - the text whose secrets placeholders stand for; undefined: the fragment is new.
 * @throws PlatformError FRAGMENT_TOO_LARGE
 */
export function readFragment(given: string, saved: string | undefined): FragmentText {
  requireFragmentSize(given);
  const parsed = parseConfigText(given);
  if (parsed.is === 'problem') return { text: given, config: {}, problems: [parsed.problem] };
  const kept = hasPlaceholder(given) ? keepSecrets(given, [saved ?? '{}']) : { text: given, problems: [] };
  requireFragmentSize(kept.text);
  const json: unknown = JSON.parse(kept.text);
  if (!isObject(json)) return { text: kept.text, config: {}, problems: checkConfig(json) };
  const misplaced = new Set(kept.problems.map(({ path }) => path));
  const { config: filled, places } = withVariables(json, {});
  const open = places.filter(({ isOpen }) => isOpen).map(({ path }) => path);
  const problems = [
    ...kept.problems,
    ...duplicateKeys(kept.text),
    ...nestedProblems(json),
    ...variableProblems(json),
    ...secretProblems(json),
    // What a variable without a default becomes is checked with each machine.
    ...checkConfig(filled).filter(({ path }) => !misplaced.has(path) && !open.some((one) => isWithin(path, one))),
  ];
  return { text: kept.text, config: json, problems };
}

function requireFragmentSize(text: string): void {
  const sizeBytes = Buffer.byteLength(text);
  const limitBytes = fragmentLimits.textBytes;
  if (sizeBytes > limitBytes) throw new PlatformError('FRAGMENT_TOO_LARGE', { sizeBytes, limitBytes });
}

const nestedProblems = (config: object): Problem[] =>
  ['fragments', 'fragment_mods']
    .filter((key) => Object.hasOwn(config, key))
    .map((path) => ({
      path,
      message: 'stands in a fragment, and fragments cannot use other fragments.',
      remedy: 'Name all fragments in the configurations of the machines, in the order in which they are merged.',
      severity: 'error',
    }));

/** Everything with the key `$variable` that no variable could be read from. */
function variableProblems(config: object): Problem[] {
  const found: Problem[] = [];
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) value.forEach((item: unknown, index) => visit(item, joined(path, index)));
    if (!isObject(value)) return;
    if (Object.hasOwn(value, '$variable') && !variableIn(value))
      found.push({
        path,
        message: 'has the key $variable, and is not a variable.',
        remedy:
          'Write {"$variable": {"name": "speed", "default_value": 1}}, without other keys; the default may be left out.',
        severity: 'error',
      });
    else if (!variableIn(value)) for (const [key, one] of Object.entries(value)) visit(one, joined(path, key));
  };
  visit(config, '');
  return found;
}

/** Readers of a machine see its variables, so no secret may come from one. */
function secretProblems(config: { [key: string]: unknown }): Problem[] {
  const own = withVariables(config, {});
  const filled = withVariables(config, Object.fromEntries([...own.used].map((name) => [name, 'x'])));
  return [...new Set([...secretVariables(own), ...secretVariables(filled)].map(({ path }) => path))].map((path) => ({
    path,
    message: 'has a secret, and a variable is shown to everybody who reads the configuration of a machine.',
    remedy: 'Write the secret into the fragment itself, or into the configuration of the machine.',
    severity: 'error',
  }));
}

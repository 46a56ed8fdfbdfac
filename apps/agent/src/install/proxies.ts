import { environmentText } from '../os/environment.ts';

const proxy = /^(https?|all|no)_proxy$/i;

/** Environment file of the unit with the proxies of this shell; empty: it has none. */
export const proxiesOf = (env: Readonly<Record<string, string | undefined>>): string =>
  environmentText(
    Object.fromEntries(
      Object.entries(env).filter(([name, value]) => proxy.test(name) && value !== undefined && value !== ''),
    ),
  );

/** Parses the proxies of the unit's environment file. */
export const proxiesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^(\w+)="((?:[^"\\]|\\.)*)"$/gm)]
      .map(([, name = '', value = '']): [string, string] => [name, value.replace(/\\(.)/g, '$1')])
      .filter(([name]) => proxy.test(name)),
  );

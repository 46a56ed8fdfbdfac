import { environmentText } from '../os/environment.ts';

const proxy = /^(https?|all|no)_proxy$/i;

/** Text for the environment of the unit, of the proxies in this shell; empty: there are none. */
export const proxiesOf = (env: Readonly<Record<string, string | undefined>>): string =>
  environmentText(
    Object.fromEntries(
      Object.entries(env).filter(([name, value]) => proxy.test(name) && value !== undefined && value !== ''),
    ),
  );

/** The other way round: what stands in the environment of the unit. */
export const proxiesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^(\w+)="((?:[^"\\]|\\.)*)"$/gm)]
      .map(([, name = '', value = '']): [string, string] => [name, value.replace(/\\(.)/g, '$1')])
      .filter(([name]) => proxy.test(name)),
  );

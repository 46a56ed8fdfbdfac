import type { Known } from './callers.ts';

/** Answers that the server does not give yet: rights of machines and scripts within their organization. */
const notYet: readonly [what: RegExp, who: readonly Known[]][] = [
  [/DataService|DatasetService|PackageService|Registry|picture of no dataset|model/, ['script']],
  [/PackageService|Registry|model/, ['own machine', 'machine beside']],
  [
    /Upload/,
    ['own machine', 'operator of the machine', 'owner of the machine', 'operator of its place', 'owner of its place'],
  ],
];

export const isNotYet = (what: string, who: Known): boolean =>
  notYet.some(([pattern, callers]) => pattern.test(what) && callers.includes(who));

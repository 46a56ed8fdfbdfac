import parse from 'spdx-expression-parse';
import spdxTexts from 'spdx-license-list/full.js';

/**
 * Licenses that a component of a release may have. All allow distribution in compiled form with their text; MPL-2.0
 * also wants the address of the source, which the list of licenses has. OFL-1.1 is that of fonts, which are not sold by
 * themselves.
 */
const allowed: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BSL-1.0',
  'CC0-1.0',
  'CC-BY-4.0',
  'IJG',
  'ISC',
  'LicenseRef-public-domain',
  'libpng-2.0',
  'MIT',
  'MPL-2.0',
  'OFL-1.1',
  'OpenSSL',
  'PostgreSQL',
  'PSF-2.0',
  'Python-2.0',
  'Unicode-3.0',
  'Unlicense',
  'X11',
  'Zlib',
]);

/**
 * Components under the GNU Lesser General Public License, each with the way in which users can replace it. Their source
 * is public and unmodified.
 */
const replaceable: Readonly<Record<string, string>> = {
  JavaScriptCore: 'users can relink the runtime: https://bun.sh/docs/project/licensing',
  tinycc: 'users can relink the runtime: https://bun.sh/docs/project/licensing',
  '@img/sharp-libvips-linux-x64': 'a shared library in a file of its own',
  '@img/sharp-libvips-linux-arm64': 'a shared library in a file of its own',
};
const lesser = /^LGPL-(2\.0|2\.1|3\.0)-(only|or-later)$/;

/** Whether the terms of the SPDX expression can be met with allowed licenses only. Pure. */
export function isAllowed(expression: string, componentName: string): boolean {
  const meets = (node: parse.Info): boolean => {
    if ('conjunction' in node) {
      const sides = [meets(node.left), meets(node.right)];
      return node.conjunction === 'or' ? sides.includes(true) : !sides.includes(false);
    }
    if (lesser.test(node.license)) return Object.hasOwn(replaceable, componentName);
    return allowed.has(node.license);
  };
  try {
    return meets(parse(expression));
  } catch {
    return false;
  }
}

/** How users can replace a component whose license asks for it; undefined: it does not. */
export const replacementOf = (componentName: string): string | undefined =>
  Object.hasOwn(replaceable, componentName) ? replaceable[componentName] : undefined;

/** The license IDs of an SPDX expression, sorted. @throws Error for text that does not parse */
export function licenseIds(expression: string): string[] {
  const ids = new Set<string>();
  const collect = (node: parse.Info): void => {
    if (!('conjunction' in node)) return void ids.add(node.license);
    collect(node.left);
    collect(node.right);
  };
  collect(parse(expression));
  return [...ids].toSorted();
}

/** The text of a license by its SPDX ID. @throws Error for an unknown one */
export function standardText(id: string): string {
  const text = spdxTexts[id]?.licenseText;
  if (text === undefined) throw new Error(`SPDX knows no license ${id}.`);
  return text.replace(/<year>\s+<(copyright holders?|owner)>/g, 'the authors of the components named above').trim();
}

import { createHash } from 'node:crypto';
import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library';
import type { Component } from './components.ts';
import { isAllowed, licenseIds, replacementOf, standardText } from './licenses.ts';

/** What is released. */
export interface Subject {
  readonly name: string;
  readonly version: string;
  /** linux/amd64; undefined: for every platform. */
  readonly platform?: string;
  /** 64 hex digits, of the released file; undefined: the SBOM lies in the release itself. */
  readonly sha256?: string;
  /** SPDX expression of our own code, and its text. */
  readonly license: string;
  readonly texts: readonly string[];
}

/** The components, and those linked into them, that have no allowed license. Pure. */
export function disallowed(components: readonly Component[]): string[] {
  return withParts(components)
    .filter(({ license, name }) => !isAllowed(license, name))
    .map(({ name, version, license }) => `${name} ${version ?? ''}: ${license || 'no license'}`.replace(' :', ':'));
}

const withParts = (components: readonly Component[]): Component[] =>
  components.flatMap((one) => [one, ...withParts(one.parts ?? [])]);

/**
 * The software bill of materials: CycloneDX 1.6 as JSON. The same input gives the same bytes: no times, and a serial
 * number that is a hash of the content. Decision 0076.
 */
export function makeSbom(subject: Subject, components: readonly Component[]): string {
  const main = new Models.Component(Enums.ComponentType.Application, subject.name, {
    version: subject.version,
    bomRef: `${subject.name}@${subject.version}`,
    ...(subject.sha256 !== undefined && { hashes: sha256Hash(subject.sha256) }),
    licenses: licensesOf(subject.license),
  });
  if (subject.platform !== undefined) main.properties.add(new Models.Property('platform', subject.platform));
  const bom = new Models.Bom({ metadata: new Models.Metadata({ component: main }) });
  for (const one of distinct(components)) {
    const made = componentOf(one, '');
    bom.components.add(made);
    main.dependencies.add(made.bomRef);
  }
  const text = serialized(bom);
  bom.serialNumber = `urn:uuid:${uuidOf(text)}`;
  return serialized(bom);
}

/** Without those that another folder holds, too: references must be unique. */
const distinct = (components: readonly Component[]): Component[] => [
  ...new Map(components.map((one) => [refOf(one), one])).values(),
];

const refOf = ({ purl, name, version }: Component): string => purl ?? [name, version].filter(Boolean).join('@');

const serialized = (bom: Models.Bom): string => {
  const factory = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return `${new Serialize.JsonSerializer(factory).serialize(bom, { sortLists: true, space: 1 })}\n`;
};

const sha256Hash = (sha256: string): Models.HashDictionary =>
  new Models.HashDictionary([[Enums.HashAlgorithm['SHA-256'], sha256]]);

const licensesOf = (expression: string): Models.LicenseRepository =>
  new Models.LicenseRepository(expression === '' ? [] : [new Models.LicenseExpression(expression)]);

const types = {
  library: Enums.ComponentType.Library,
  application: Enums.ComponentType.Application,
  file: Enums.ComponentType.File,
  'machine-learning-model': Enums.ComponentType.MachineLearningModel,
} as const satisfies Readonly<Record<Component['type'], Enums.ComponentType>>;

function componentOf(one: Component, within: string): Models.Component {
  const bomRef = `${within}${refOf(one)}`;
  const made = new Models.Component(types[one.type], one.name, {
    bomRef,
    licenses: licensesOf(one.license),
    ...(one.version !== undefined && { version: one.version }),
    ...(one.purl !== undefined && { purl: one.purl }),
    ...(one.sha256 !== undefined && { hashes: sha256Hash(one.sha256) }),
  });
  if (one.url !== undefined)
    made.externalReferences.add(new Models.ExternalReference(one.url, Enums.ExternalReferenceType.VCS));
  for (const part of one.parts ?? []) made.components.add(componentOf(part, `${bomRef}#`));
  return made;
}

/** A UUID of version 8 (RFC 9562), whose bits are a hash. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const rule = '='.repeat(80);

/** Every component with its license, then every text once. Texts that a component lacks are those of SPDX. */
export function makeLicenseList(subject: Subject, components: readonly Component[]): string {
  const all = withParts(distinct(components)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const isFor = subject.platform === undefined ? '' : ` for ${subject.platform}`;
  const head = [
    `Licenses of ${subject.name} ${subject.version}${isFor} and of what it contains`,
    ...(subject.sha256 === undefined ? [] : [`sha256 ${subject.sha256}`]),
    '',
    `${subject.name} ${subject.version}: ${subject.license}`,
    ...all.map(lineOf),
  ];
  const texts = new Map<string, string[]>();
  const put = (text: string, name: string): void => void texts.set(text, [...(texts.get(text) ?? []), name]);
  for (const text of subject.texts) put(text, subject.name);
  for (const one of all) for (const text of one.texts) put(text, one.name);
  const standard = new Map<string, string[]>();
  for (const one of all.filter(({ texts: own }) => own.length === 0))
    for (const id of licenseIds(one.license)) standard.set(id, [...(standard.get(id) ?? []), one.name]);
  return [
    ...head,
    ...[...texts].map(([text, names]) => `\n${rule}\n${unique(names)}\n${rule}\n\n${text}`),
    ...[...standard]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, names]) => `\n${rule}\n${id}, the license of ${unique(names)}\n${rule}\n\n${standardText(id)}`),
    '',
  ].join('\n');
}

function lineOf({ name, version, license, url }: Component): string {
  const replacement = replacementOf(name);
  const source = url === undefined ? '' : `, ${url}`;
  const how = replacement === undefined ? '' : ` (${replacement})`;
  return `${[name, version].filter(Boolean).join(' ')}: ${license}${source}${how}`;
}

const unique = (names: readonly string[]): string => [...new Set(names)].join(', ');

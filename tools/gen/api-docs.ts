import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  FieldDescriptorProto_Label,
  type FieldDescriptorProto,
  FieldDescriptorProto_Type,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';

/** Reads our .proto files with their comments. */
export function descriptors(root: string): FileDescriptorProto[] {
  const contract = path.join(root, 'packages/contract');
  const done = spawnSync(
    path.join(root, 'node_modules/.bin/buf'),
    ['build', '--as-file-descriptor-set', '--output', '-#format=binpb'],
    { cwd: contract, maxBuffer: 1 << 26 },
  );
  if (done.status !== 0) throw new Error(`buf build failed:\n${String(done.stderr)}${done.error?.message ?? ''}`);
  return fromBinary(FileDescriptorSetSchema, done.stdout).file.filter((file) => !file.package.startsWith('google.'));
}

export const cell = (text: string): string =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ').trim();
const anchor = (name: string): string => name.toLowerCase().replaceAll('.', '');
const scalar = (type: FieldDescriptorProto_Type): string => FieldDescriptorProto_Type[type].toLowerCase();

/** Comments by the path of their element: field numbers of descriptor.proto and indexes, joined. */
export function commentsOf(file: FileDescriptorProto): (...place: number[]) => string {
  const found = new Map<string, string>();
  for (const { path: place, leadingComments, trailingComments } of file.sourceCodeInfo?.location ?? []) {
    const text = `${leadingComments} ${trailingComments}`.replaceAll(/\s*\n\s*/g, ' ').trim();
    const comment = text.replace(/^Ours: numbers from 1000 on\. ?/, '');
    if (comment !== '') found.set(place.join('.'), comment);
  }
  return (...place) => found.get(place.join('.')) ?? '';
}

interface Place {
  /** Path of the page by full name of message or enum. */
  readonly pages: ReadonlyMap<string, string>;
  readonly page: string;
}

function link(typeName: string, { pages, page }: Place): string {
  const name = typeName.replace(/^\./, '');
  const short = name.split('.').at(-1) ?? name;
  const target = pages.get(name);
  if (target === undefined) return name;
  return `[${short}](${target === page ? '' : target}#${anchor(short)})`;
}

function typeText(field: FieldDescriptorProto, message: DescriptorProto, place: Place): string {
  const entry = message.nestedType.find(
    (one) => one.options?.mapEntry === true && field.typeName.endsWith(`.${message.name}.${one.name}`),
  );
  const plain = (one: FieldDescriptorProto): string =>
    one.typeName === '' ? scalar(one.type) : link(one.typeName, place);
  if (entry) {
    const [key, value] = entry.field;
    return `map of ${key ? plain(key) : ''} to ${value ? plain(value) : ''}`;
  }
  return field.label === FieldDescriptorProto_Label.REPEATED
    ? `list of ${plain(field)}`
    : `${plain(field)}${field.proto3Optional ? ', optional' : ''}`;
}

function messageText(
  message: DescriptorProto,
  comment: (...place: number[]) => string,
  at: number[],
  place: Place,
): string[] {
  const about = comment(...at);
  const head = [`### ${message.name}`, '', ...(about === '' ? [] : [cell(about), ''])];
  if (message.field.length === 0) return [...head, 'No fields.', ''];
  const rows = message.field.map((field, index) => {
    const oneOf =
      field.proto3Optional || field.oneofIndex === undefined ? undefined : message.oneofDecl[field.oneofIndex];
    const choice =
      oneOf && message.field.filter((f) => f.oneofIndex === field.oneofIndex).length > 1
        ? ` (one of ${oneOf.name})`
        : '';
    return `| ${field.number} | ${field.name} | ${typeText(field, message, place)}${choice} | ${cell(comment(...at, 2, index))} |`;
  });
  return [...head, '| | Field | Type | |', '|---|---|---|---|', ...rows, ''];
}

function enumText(one: EnumDescriptorProto, comment: (...place: number[]) => string, at: number[]): string[] {
  const about = comment(...at);
  const rows = one.value.map(
    (value, index) => `| ${value.number} | ${value.name} | ${cell(comment(...at, 2, index))} |`,
  );
  return [
    `### ${one.name}`,
    '',
    ...(about === '' ? [] : [cell(about), '']),
    '| | Value | |',
    '|---|---|---|',
    ...rows,
    '',
  ];
}

function pageText(file: FileDescriptorProto, place: Place): string {
  const comment = commentsOf(file);
  const services = file.service.flatMap((service, s) => [
    `## ${service.name}`,
    '',
    ...(comment(6, s) === '' ? [] : [cell(comment(6, s)), '']),
    '| Method | Request | Response | |',
    '|---|---|---|---|',
    ...service.method.map((method, m) => {
      const request = `${method.clientStreaming ? 'stream of ' : ''}${link(method.inputType, place)}`;
      const response = `${method.serverStreaming ? 'stream of ' : ''}${link(method.outputType, place)}`;
      return `| ${method.name} | ${request} | ${response} | ${cell(comment(6, s, 2, m))} |`;
    }),
    '',
  ]);
  const messages = file.messageType.flatMap((message, m) => messageText(message, comment, [4, m], place));
  const enums = file.enumType.flatMap((one, e) => enumText(one, comment, [5, e]));
  return [
    `# ${file.package}`,
    '',
    `Generated from \`packages/contract/proto/${file.name}\` by \`npm run gen\`. Fields from 1000 on are ours; existing clients do not know them.`,
    '',
    ...services,
    ...(messages.length > 0 ? ['## Messages', '', ...messages] : []),
    ...(enums.length > 0 ? ['## Enumerations', '', ...enums] : []),
  ].join('\n');
}

export const pageOf = (file: FileDescriptorProto): string =>
  `${file.package}${file.name.endsWith('robot.proto') ? '.robot' : ''}.md`;

/** docs/generated/api/<package>.md: every method, message, field and value with its comment, by file name. */
export function apiDocs(files: readonly FileDescriptorProto[]): Map<string, string> {
  const pages = new Map<string, string>();
  for (const file of files) {
    for (const one of [...file.messageType, ...file.enumType]) pages.set(`${file.package}.${one.name}`, pageOf(file));
  }
  const made = new Map<string, string>();
  for (const file of files) {
    const page = pageOf(file);
    if (made.has(page)) throw new Error(`${file.name} and another file would both be ${page}`);
    made.set(page, pageText(file, { pages, page }));
  }
  return made;
}

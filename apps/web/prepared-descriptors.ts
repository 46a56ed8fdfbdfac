// Descriptors of the contract as the browser reads them fastest. A generated file holds its descriptor in Protobuf, which
// takes the descriptor of descriptors to read: more than half of what the first page's modules did. The build writes it
// as JSON. See docs/decisions/0165-prepared-descriptors.md.
import { base64Decode } from '@bufbuild/protobuf/wire';
import { fromBinary } from '@bufbuild/protobuf';
import { protoCamelCase } from '@bufbuild/protobuf/reflect';
import { type DescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Plugin } from 'vite';

const reader = 'virtual:prepared-descriptor';
const readerSource = `
  import { createFileRegistry } from '@bufbuild/protobuf';
  export const preparedFile = (text, imports = []) => {
    const proto = JSON.parse(text);
    proto.dependency = imports.map((file) => file.proto.name);
    return createFileRegistry(proto, (name) => imports.find((file) => file.proto.name === name)).getFile(proto.name);
  };`;

const nameInJson = (message: DescriptorProto): void => {
  for (const field of message.field) field.jsonName ||= protoCamelCase(field.name);
  message.nestedType.forEach(nameInJson);
};

/**
 * Only what is set. The registry of descriptors takes what is absent as its default, but for the package and the syntax
 * of a file.
 */
export function prepared(base64: string): string {
  const file = fromBinary(FileDescriptorProtoSchema, base64Decode(base64));
  file.messageType.forEach(nameInJson);
  const withoutTypes = (key: string, value: unknown): unknown => (key.startsWith('$') ? undefined : value);
  const content = JSON.parse(
    JSON.stringify({ ...file, package: file.package, syntax: file.syntax }, withoutTypes),
  ) as object;
  return JSON.stringify({ $typeName: file.$typeName, ...content });
}

export const preparedDescriptors = (): Plugin => ({
  name: 'prepared-descriptors',
  apply: 'build',
  resolveId: (id) => (id === reader ? `\0${reader}` : null),
  load: (id) => (id === `\0${reader}` ? readerSource : null),
  transform: {
    filter: { id: /_pb\.[jt]s$/ },
    handler(code) {
      const read = code.replace(
        /\bfileDesc\("([\w+/=]+)"/g,
        (_, base64: string) => `preparedFile(${JSON.stringify(prepared(base64))}`,
      );
      return read === code ? null : { code: `import { preparedFile } from '${reader}';\n${read}`, map: null };
    },
  },
});

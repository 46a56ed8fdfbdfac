import assert from 'node:assert/strict';
import test from 'node:test';
import { createFileRegistry, type DescFile, toBinary } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { base64Encode } from '@bufbuild/protobuf/wire';
import {
  type FileDescriptorProto,
  file_google_protobuf_duration,
  file_google_protobuf_java_features,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { file_platform_app_v1_app } from '@platform/contract/gen/platform/app/v1/app_pb';
import { file_platform_fleet_v1_fleet } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { prepared } from '../../prepared-descriptors.ts';

/** As the build writes the file, and as the page reads it. */
function asBuilt({ proto, dependencies }: DescFile): DescFile | undefined {
  const text = prepared(base64Encode(toBinary(FileDescriptorProtoSchema, proto)));
  const built = { ...(JSON.parse(text) as FileDescriptorProto), dependency: dependencies.map((one) => one.proto.name) };
  const registry = createFileRegistry(built, (name) => dependencies.find((one) => one.proto.name === name));
  return registry.getFile(proto.name);
}

/** What the library reads of the types of a file. */
const typesOf = (file: DescFile) =>
  [...nestedTypes(file)].map((type) => {
    if (type.kind === 'enum')
      return [type.typeName, type.open, type.values.map(({ localName, number }) => [localName, number])];
    if (type.kind === 'service')
      return [type.typeName, type.methods.map((one) => [one.localName, one.methodKind, one.input.typeName])];
    if (type.kind === 'extension') return [type.typeName, type.number, type.extendee.typeName];
    const fields = type.fields.map((one) => [one.localName, one.jsonName, one.number, one.fieldKind, one.presence]);
    return [type.typeName, fields, type.oneofs.map(({ localName }) => localName)];
  });

for (const file of [
  file_google_protobuf_duration,
  file_google_protobuf_timestamp,
  file_google_protobuf_struct,
  file_platform_fleet_v1_fleet,
  file_platform_app_v1_app,
  // Written in the oldest syntax, which a file does not name.
  file_google_protobuf_java_features,
])
  test(`the built app has the types of ${file.name}`, () => {
    const built = asBuilt(file) ?? assert.fail('it is not in the registry');
    assert.ok(typesOf(file).length > 0);
    assert.deepEqual([built.edition, typesOf(built)], [file.edition, typesOf(file)]);
  });

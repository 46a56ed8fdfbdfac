import { file_platform_app_agent_v1_agent as agent } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { file_platform_app_data_v1_data as data } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { file_platform_app_dataset_v1_dataset as dataset } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { file_platform_app_datasync_v1_data_sync as dataSync } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { file_platform_app_mltraining_v1_ml_training as training } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { file_platform_app_packages_v1_packages as packages } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { file_platform_app_v1_app as app } from '@platform/contract/gen/platform/app/v1/app_pb';
import { file_platform_app_v1_robot as robot } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { file_platform_common_v1_common as common } from '@platform/contract/gen/platform/common/v1/common_pb';
import { file_platform_provisioning_v1_provisioning as provisioning } from '@platform/contract/gen/platform/provisioning/v1/provisioning_pb';
import { file_google_rpc_status as status } from '@platform/contract/gen/google/rpc/status_pb';
import { file_proto_rpc_v1_auth as auth } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import type { Shapes } from './public-types.ts';

const files = [agent, data, dataset, dataSync, training, packages, app, robot, common, provisioning, status, auth];

type File = (typeof files)[number];
type Message = File['messages'][number];
type Field = Message['fields'][number];

/** Scalar values of google.protobuf.FieldDescriptorProto.Type. */
const scalars: Readonly<Record<number, string>> = {
  1: 'double',
  2: 'float',
  3: 'int64',
  4: 'uint64',
  5: 'int32',
  8: 'bool',
  9: 'string',
  12: 'bytes',
  13: 'uint32',
};

const short = (typeName: string): string => typeName.slice(typeName.lastIndexOf('.') + 1);

function typeOf(field: Field): string {
  const inner =
    field.message?.typeName ?? field.enum?.typeName ?? scalars[field.scalar ?? 0] ?? `scalar ${field.scalar}`;
  return field.fieldKind === 'map' ? `map<${scalars[field.mapKey]}, ${inner}>` : inner;
}

function fieldShape(field: Field): string {
  const label = field.fieldKind === 'list' ? 'repeated ' : field.proto.proto3Optional ? 'optional ' : '';
  return `${field.oneof ? `${field.oneof.name}: ` : ''}${label}${typeOf(field)} ${field.name} = ${field.number}`;
}

const nested = (message: Message): Message[] => [message, ...message.nestedMessages.flatMap(nested)];

/** Every message, enum and service that existing clients use, without our own fields (1000 and up). */
export function ownTypes(): Shapes {
  const shapes = new Map<string, string[]>();
  for (const file of files) {
    const messages = file.messages.flatMap(nested);
    for (const message of messages)
      shapes.set(message.typeName, message.fields.filter((field) => field.number < 1000).map(fieldShape));
    for (const enumeration of [...file.enums, ...messages.flatMap((message) => message.nestedEnums)]) {
      shapes.set(
        enumeration.typeName,
        enumeration.values.map((value) => `${value.name} = ${value.number}`),
      );
    }
    for (const service of file.services) {
      shapes.set(
        service.typeName,
        service.methods.map(
          (method) =>
            `${method.name}(${short(method.input.typeName)}) ${short(method.output.typeName)} ${method.methodKind}`,
        ),
      );
    }
  }
  return shapes;
}

import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { cell, commentsOf, pageOf } from './api-docs.ts';

const syntax = 12;

interface Head {
  readonly purpose: string;
  readonly isCompatible: boolean;
}
/** What the first lines of the file say. */
function headOf(file: FileDescriptorProto): Head {
  const text = commentsOf(file)(syntax);
  const isCompatible = text.includes('Existing clients speak this');
  return { purpose: text.replace(/ ?(Existing clients speak this|Additions of ours take).*$/, ''), isCompatible };
}

function serviceText(file: FileDescriptorProto): string[] {
  const comment = commentsOf(file);
  return file.service.flatMap((service, s) => [
    `### ${file.package}.${service.name}`,
    '',
    `${headOf(file).purpose} [Messages and fields](api/${pageOf(file)})`,
    '',
    '| Method | |',
    '|---|---|',
    ...service.method.map((method, m) => `| ${method.name} | ${cell(comment(6, s, 2, m))} |`),
    '',
  ]);
}

/** docs/generated/rpc.md: all services, with a link to the page of each. */
export function rpcDocs(files: readonly FileDescriptorProto[]): string {
  const sorted = files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [
    '# Remote procedure calls',
    '',
    'Generated from `packages/contract/proto` by `npm run gen`.',
    '',
    'All calls go to `POST <server>/<service>/<method>` by Connect, gRPC or gRPC-Web, with `authorization: Bearer <token>` but for Authenticate.',
    'Methods that are not listed answer UNIMPLEMENTED. What an error means and what to do: [errors.md](errors.md).',
    '',
    '## Services that existing clients speak',
    '',
    'Field numbers, types and method names are a promise. The package name `viam.…` is accepted in place of `platform.…`. Fields from 1000 on are ours.',
    '',
    ...sorted.filter((file) => headOf(file).isCompatible).flatMap(serviceText),
    '## Services of our own',
    '',
    ...sorted.filter((file) => !headOf(file).isCompatible).flatMap(serviceText),
  ].join('\n');
}

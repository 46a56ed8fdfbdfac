import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { cell, commentsOf, pageOf } from './api-docs.ts';

const syntax = 12;

interface Head {
  readonly purpose: string;
  readonly isCompatible: boolean;
}
/** Reads the comment at the head of the file. */
function headOf(file: FileDescriptorProto): Head {
  const text = commentsOf(file)(syntax);
  const isCompatible = text.includes('Existing clients speak this');
  return { purpose: text.replace(/ ?(Existing clients speak this|Additions of ours take).*$/, ''), isCompatible };
}

function serviceText(file: FileDescriptorProto, routed: ReadonlySet<string>): string[] {
  const comment = commentsOf(file);
  return file.service.flatMap((service, s) => {
    const rows = service.method.flatMap((method, m) =>
      routed.has(`${file.package}.${service.name}/${method.name}`)
        ? [`| ${method.name} | ${cell(comment(6, s, 2, m))} |`]
        : [],
    );
    if (rows.length === 0) return [];
    return [
      `### ${file.package}.${service.name}`,
      '',
      `${headOf(file).purpose} [Messages and fields](api/${pageOf(file)})`,
      '',
      '| Method | |',
      '|---|---|',
      ...rows,
      '',
    ];
  });
}

/**
 * docs/generated/rpc.md: the implemented calls by service, with a link to the page of each.
 *
 * @param routed - `service/method` of the calls that have a handler.
 */
export function rpcDocs(files: readonly FileDescriptorProto[], routed: ReadonlySet<string>): string {
  const sorted = files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [
    '# Remote procedure calls',
    '',
    'Generated from the handlers of the server and `packages/contract/proto` by `npm run gen`.',
    '',
    'All calls go to `POST <server>/<service>/<method>` by Connect, gRPC or gRPC-Web, with `authorization: Bearer <token>` but for Authenticate.',
    'Methods that are not listed answer UNIMPLEMENTED. What an error means and what to do: [errors.md](errors.md).',
    '',
    '## Services that existing clients speak',
    '',
    'Field numbers, types and method names are a promise. The package name `viam.…` is accepted in place of `platform.…`. Fields from 1000 on are ours.',
    '',
    ...sorted.filter((file) => headOf(file).isCompatible).flatMap((file) => serviceText(file, routed)),
    '## Services of our own',
    '',
    ...sorted.filter((file) => !headOf(file).isCompatible).flatMap((file) => serviceText(file, routed)),
  ].join('\n');
}

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { filesUnder } from './protocol-classes.ts';

interface Method {
  readonly name: string;
  readonly request: string;
  readonly response: string;
  readonly comment: string;
}
interface ServiceDoc {
  readonly name: string;
  readonly file: string;
  readonly purpose: string;
  readonly isCompatible: boolean;
  readonly methods: readonly Method[];
}

function servicesOf(folder: string, file: string): ServiceDoc[] {
  const text = readFileSync(path.join(folder, file), 'utf8');
  const packageName = /^package ([\w.]+);/m.exec(text)?.[1] ?? '';
  const head = /^(?:\/\/.*\n)+/.exec(text)?.[0].split('\n').map((line) => line.replace(/^\/\/ ?/, '')) ?? [];
  const isCompatible = head.some((line) => line.startsWith('Existing clients speak this'));
  const purpose = head.filter((line) => line !== '' && !/^(Existing clients|Additions of ours)/.test(line)).join(' ');
  return [...text.matchAll(/^service (\w+) \{\n([\s\S]*?)^\}/gm)].map(([, name, body]) => ({
    name: `${packageName}.${name}`,
    file,
    purpose,
    isCompatible,
    methods: [...(body ?? '').matchAll(/((?: {2}\/\/.*\n)*) {2}rpc (\w+)\(([^)]+)\) returns \(([^)]+)\);/g)].map(([, comment, method, request, response]) => ({
      name: method ?? '',
      request: request ?? '',
      response: response ?? '',
      comment: (comment ?? '').replaceAll(/^ {2}\/\/ ?/gm, '').trim().replaceAll('\n', ' '),
    })),
  }));
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

/** docs/generated/rpc.md. */
export function rpcDocs(folder: string): string {
  const services = filesUnder(folder).flatMap((file) => servicesOf(folder, file));
  const part = (service: ServiceDoc): string[] => [
    `### ${service.name}`,
    '',
    `${service.purpose} (\`packages/contract/proto/${service.file}\`)`,
    '',
    '| Method | Request | Response | |',
    '|---|---|---|---|',
    ...service.methods.map((m) => `| ${[m.name, m.request, m.response, m.comment].map(cell).join(' | ')} |`),
    '',
  ];
  return [
    '# Remote procedure calls',
    '',
    'Generated from `packages/contract/proto` by `npm run gen`.',
    '',
    'All calls go to `POST <server>/<service>/<method>` by Connect, gRPC or gRPC-Web, with `authorization: Bearer <token>` but for Authenticate.',
    'Methods that are not listed answer UNIMPLEMENTED.',
    '',
    '## Services that existing clients speak',
    '',
    'Field numbers, types and method names are a promise. The package name `viam.…` is accepted in place of `platform.…`. Fields from 1000 on are ours.',
    '',
    ...services.filter((s) => s.isCompatible).flatMap(part),
    '## Services of our own',
    '',
    ...services.filter((s) => !s.isCompatible).flatMap(part),
  ].join('\n');
}

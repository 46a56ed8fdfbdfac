// No regular expression of a program takes more than linear time for a text: a line of 64 KiB would hold a device for
// seconds. Each that can is listed with what bounds its text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';
import { read, sources } from './house/tree.ts';

/** Why the text is short: at most some hundred characters, or the program's own. */
const bounded: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'apps/agent/src/install/fetch-credentials.ts': { '\\/+$': 'an URL of the file of credentials' },
  'apps/agent/src/logs/secret-forms.ts': { '=+$': 'a secret that the agent knows' },
  'apps/agent/src/os/linux/kernel/netlink.ts': { '\\0.*$': 'a name of the kernel, 256 bytes' },
  'apps/agent/src/os/linux/kernel/usage.ts': {
    '^cpu +([\\d ]+)$': 'a file of the kernel',
    '^\\s*(\\S+):\\s*(\\d+)(?:\\s+\\d+){7}\\s+(\\d+)': 'a file of the kernel',
  },
  'apps/agent/src/system/apt-status.ts': {
    '([^ ,:]+):\\S+ \\(([^,()]+), ([^,()]+)\\)': 'a log of apt, written by root',
  },
  'apps/cli/src/datasets/export-lines.ts': { '0+$': 'nine digits' },
  'apps/cloud/src/data/rules/manifest.ts': { '0+$': 'nine digits' },
  'apps/cloud/src/organizations/store/first-run.ts': { '^-+|-+$': 'the name of the first organization' },
  'apps/runner/src/executor/kubernetes/in-cluster.ts': { '\\/+$': 'a variable of the cluster' },
  'apps/runner/src/executor/kubernetes/manifest.ts': { '^-+|-+$': 'the id of a job' },
  'apps/web/src/features/training/submit-built-in.tsx': { '^[^A-Za-z0-9]+|-+$': "the user's own browser" },
  'apps/web/src/ui/quantities.ts': { '\\B(?=(\\d{3})+(?!\\d))': 'a number' },
  'packages/contract/src/errors/errors.ts': { '\\[([^\\]]*)\\]': 'a sentence of the error table' },
  'packages/contract/src/machine/filter.ts': {
    '^\\s*([a-z_]+)\\s*(?:(!=|<=|>=|=|<|>|~|:)\\s*(.*?))?\\s*$': 'longestFilter: 200 characters',
  },
  'packages/contract/src/machine-server/machine-server.ts': { '\\/+$': 'the address of a management server' },
  'packages/kit/src/node/options.ts': { ' (?![^[]*\\])': 'the help of a program' },
  'packages/dataset-files/src/evidence.ts': {
    '<\\?[^>]*\\?>|<!--[^]*?-->|<!DOCTYPE[^>[]*(\\[[^\\]]*\\])?[^>]*>': 'the first 4 KiB of a file',
    '^\\s*[\'"]?names[\'"]?\\s*:': "a file of the user, on the user's computer",
  },
  'packages/dataset-files/src/write/layouts.ts': { '^[. ]+|[. ]+$': 'a name of a file' },
  'packages/sandbox/src/requirements.ts': {
    '^[A-Za-z0-9][A-Za-z0-9._-]* *(\\[[A-Za-z0-9._, -]*\\])? *\\(?[<>=!~0-9A-Za-z.*+, -]*\\)? *(;[^\\u0000-\\u001f]*)?$':
      '500 characters',
  },
};

interface Node {
  type?: string;
  regex?: { pattern: string; flags: string };
}

function* literalsIn(node: unknown): Generator<{ pattern: string; flags: string }> {
  if (typeof node !== 'object' || node === null) return;
  const { type, regex } = node as Node;
  if (type === 'Literal' && regex) yield regex;
  for (const child of Object.values(node)) yield* literalsIn(child);
}

/** The analysis takes an expression with a word boundary for harmless, so it also gets the one without. */
function isSlow(source: string, flags: string): boolean {
  const forms = new Set([source, source.replaceAll(/\\[bB]/g, '')]);
  return [...forms].some((form) => analyse({ source: form, flags }, { maxReports: 1 }).reports.length > 0);
}

/** Expressions of a file that take more than linear time for some text. */
function slowIn(file: string): string[] {
  const ast = parseAst(read(file), { lang: file.endsWith('x') ? 'tsx' : 'ts' });
  return [...literalsIn(ast)].flatMap(({ pattern, flags }) => {
    // A class with set operations repeats nothing by itself.
    if (flags.includes('v')) return /[*+]|\{\d/.test(pattern) ? [pattern] : [];
    return isSlow(pattern, flags) ? [pattern] : [];
  });
}

test('regular expressions take linear time, or their text is bounded', () => {
  const programs = sources.filter((file) => /^(?:apps|packages)\/[^/]+\/src\//.test(file));
  const found = programs.flatMap((file) => slowIn(file).map((pattern) => [file, pattern].join(' ')));
  const listed = Object.entries(bounded).flatMap(([file, rows]) =>
    Object.keys(rows).map((pattern) => [file, pattern].join(' ')),
  );
  assert.ok(programs.length > 500, 'it has read the programs');
  assert.deepEqual(found.toSorted(), listed.toSorted());
});

test('the analysis finds what takes seconds', () => {
  const named = String.raw`(["']?\b[\w-]*(?:secret|token)["']?)=`;
  for (const source of [named, '(a+)+b', '^([^:]+):[ ]*(.*?)[ ]*$']) assert.ok(isSlow(source, 'g'), source);
});

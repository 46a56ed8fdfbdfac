/** Lists the files in a training's output folder that may become part of a model version. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { resultFileLimits, resultNameProblem, resultPathProblem } from '@platform/contract/job/result-files';

export interface ResultFiles {
  /** Regular files, relative to the folder, with slashes, in order; without tmp/. */
  readonly paths: readonly string[];
  /** One line per skipped entry; after twenty lines, one about the rest. */
  readonly leftOut: readonly string[];
}

const mostLines = 20;

export async function resultFiles(folder: string): Promise<ResultFiles> {
  const paths: string[] = [];
  const leftOut: string[] = [];
  let leftOutCount = 0;
  const leave = (name: string, why: string): void => {
    if (++leftOutCount <= mostLines) leftOut.push(`Left out of the result: ${shown(name)} ${why}.`);
  };
  const enter = async (at: string, depth: number): Promise<void> => {
    for (const entry of await readdir(path.join(folder, at), { withFileTypes: true })) {
      const name = at === '' ? entry.name : `${at}/${entry.name}`;
      if (name === 'tmp' && entry.isDirectory()) continue;
      const problem = resultNameProblem(entry.name);
      if (problem !== undefined) leave(name, `has a name that ${problem}`);
      else if (entry.isSymbolicLink()) leave(name, 'is a link');
      else if (entry.isDirectory() && depth === resultFileLimits.depth) leave(name, 'lies too deep');
      else if (entry.isDirectory()) await enter(name, depth + 1);
      else if (!entry.isFile()) leave(name, 'is not a regular file');
      else {
        const pathProblem = resultPathProblem(name);
        if (pathProblem === undefined) paths.push(name);
        else leave(name, `has a path that ${pathProblem}`);
      }
    }
  };
  await enter('', 1);
  if (leftOutCount > mostLines) leftOut.push(`Left out of the result: ${leftOutCount - mostLines} more.`);
  return { paths: paths.toSorted(), leftOut };
}

/** Quotes the name and escapes control and bidirectional characters; at most 120 characters of the name. */
function shown(name: string): string {
  const short = name.length > 120 ? `${name.slice(0, 119)}…` : name;
  return JSON.stringify(short).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (sign) => `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

import { fieldPairs } from '@platform/contract/logs/fields';
import { isAbort } from '@platform/kit';
import { useContext, useRef, useState } from 'react';
import { saveFile } from '../../ui/copying.tsx';
import { OpensLater } from '../../ui/loaded-later.tsx';
import { FailureNote, Note } from '../../ui/messages.tsx';
import type { DownloadForm } from './log-download.ts';
import { DownloadWords } from './download-words.tsx';
import { toLogLine } from '../../entities/log/log-lines.ts';
import { formatCount } from '../../ui/quantities.ts';
import { LogMachines } from './log-machines.ts';
import { type LogSource, useLogPages } from './log-window-query.ts';

/** A browser holds the file in memory. */
const mostLines = 200_000;
const pageLines = 1_000;

type ReadPage = ReturnType<typeof useLogPages>;

/** All lines of a source as a file; `report` is called with the number so far. */
async function readAll(
  read: ReadPage,
  form: DownloadForm,
  {
    signal,
    report,
    machineOf,
  }: { signal: AbortSignal; report: (lines: number) => void; machineOf: (partId: string) => string | undefined },
): Promise<{ file: Blob; isCut: boolean }> {
  const parts: string[] = [];
  for (let cursor = '', hasMore = true; hasMore && parts.length < mostLines;) {
    report(parts.length);
    const page = await read('newer', { cursor, limit: pageLines }, signal);
    for (const { entry, partId } of page.lines)
      if (entry) parts.push(form.line(toLogLine(entry), fieldPairs(entry.fields), machineOf(partId)));
    cursor = page.lines.at(-1)?.cursor ?? '';
    hasMore = page.hasMore;
    if (hasMore && parts.length >= mostLines) return { file: new Blob(parts, { type: form.type }), isCut: true };
  }
  return { file: new Blob(parts, { type: form.type }), isCut: false };
}

/** Saves all lines of the time and the query as a file. */
export function LogDownload({ source, name }: { source: LogSource; name: string }) {
  const read = useLogPages(source);
  const machines = useContext(LogMachines);
  const machineOf = (partId: string) => machines?.find((one) => one.partId === partId)?.name;
  const [lines, setLines] = useState<number>();
  const [isCut, setCut] = useState(false);
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>(undefined);
  const save = async (form: DownloadForm): Promise<void> => {
    const { signal } = (running.current = new AbortController());
    setError(undefined);
    setCut(false);
    try {
      const all = await readAll(read, form, { signal, report: setLines, machineOf });
      setCut(all.isCut);
      saveFile(`${name}.${form.extension}`, all.file);
    } catch (caught) {
      if (!signal.aborted && !isAbort(caught)) setError(caught);
    }
    setLines(undefined);
  };
  return (
    <>
      {lines === undefined ? (
        <OpensLater
          name="forms of a download"
          load={() => import('./download-forms.tsx')}
          button={<DownloadWords />}
          className="button button-small"
          kind="menu"
        >
          {({ DownloadForms }) => <DownloadForms onChoose={(form) => void save(form)} />}
        </OpensLater>
      ) : (
        <button type="button" className="button button-small" onClick={() => running.current?.abort()}>
          Stop after {formatCount(lines, 'line')}
        </button>
      )}
      {error !== undefined && <FailureNote error={error} />}
      {isCut && (
        <Note tone="warn" isLive>
          <p>
            The file has the first {formatCount(mostLines, 'line')}.{' '}
            <span className="soft">Choose a shorter time, or use the command platform logs with --from.</span>
          </p>
        </Note>
      )}
    </>
  );
}

import { CodeBlock } from '../../../ui/copying.tsx';
import { Ago } from '../../../ui/time.tsx';
import type { ExitView } from '../../../entities/machine/program-status.ts';

/** An unexpected exit of a program, with its last log lines. */
export const ExitNotice = ({
  of,
  exit: { version, reason, lines, since },
}: {
  /** The name of the program, for the title of its lines. */
  of: string;
  exit: ExitView;
}) => (
  <div className="stack-tight">
    <p className="small">
      {version === '' ? 'It ended' : <span className="mono">{version}</span>}
      {version !== '' && ' ended'}: {reason}{' '}
      <span className="soft">
        <Ago at={since} otherwise="" />
      </span>
    </p>
    {lines === '' ? (
      <p className="small soft">It wrote nothing.</p>
    ) : (
      <CodeBlock text={lines} label={`${of} ${version}: last lines`} />
    )}
  </div>
);

import { timestampMs } from '@bufbuild/protobuf/wkt';
import { useMutation } from '@connectrpc/connect-query';
import {
  type Condition,
  ConditionAction,
  ConditionService,
  ConditionSeverity,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { type ComponentProps, useState } from 'react';
import { Icon, NoteIcon } from '../../ui/icons.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { Ago } from '../../ui/time.tsx';
import { UserText } from '../../ui/isolated-text.tsx';
import { actorName } from '../machine/actors.ts';
import { bothMoments, msOf, span, upcomingTime } from '../../ui/times.ts';
import { useNow } from '../../ui/time.tsx';
import { ConditionButton } from './condition-action.tsx';
import { useConditionsAgain } from './condition-query.ts';
import { isolateText } from '../../ui/user-text.ts';
import { conditionTitle, severityLabel } from './condition-words.ts';
import { MuteDialog } from './mute-dialog.tsx';

const ErrorIcon = () => (
  <Icon>
    <path d="M8 3h8l5 5v8l-5 5H8l-5-5V8z" />
    <path d="M12 8v5M12 16h.01" />
  </Icon>
);
const WarningIcon = () => (
  <Icon>
    <path d="m12 3 9 9-9 9-9-9z" />
    <path d="M12 8v5M12 16h.01" />
  </Icon>
);
const MuteIcon = () => (
  <Icon>
    <path d="M6 9a6 6 0 0 1 9.5-4.9M18 11c0 3 .8 4.6 2 6H8M4 4l16 16M10 20h4M6 13c-.3 1.700-1 2.900-2 4h2" />
  </Icon>
);

/** The severity as a mark of its own form and colour, and in a word. */
export function SeverityMark({ severity }: { severity: ConditionSeverity }) {
  const { tone, text } = severityLabel(severity);
  return (
    <span className={`severity severity-${tone}`} title={text}>
      {severity === ConditionSeverity.ERROR ? (
        <ErrorIcon />
      ) : severity === ConditionSeverity.WARNING ? (
        <WarningIcon />
      ) : (
        <NoteIcon />
      )}
      <span className="hidden-text">{text}: </span>
    </span>
  );
}

/** Says that what a list shows may be old. */
export const LateNote = ({ isLate }: { isLate: boolean | undefined }) =>
  isLate === true && (
    <p className="attention-late small">The server has not finished a measurement lately: what follows may be old.</p>
  );

/** For how long something has lasted: "3 h 5 min". */
const Lasts = ({ since, until }: { since: number | undefined; until?: number | undefined }) => {
  const now = useNow();
  return since === undefined ? null : (
    <span className="numbers">{span((until ?? now) - since).replace(/ \d+ s$/, '')}</span>
  );
};

/** For how long, and since when. */
export function Times({ since, until }: { since: number | undefined; until?: number | undefined }) {
  const now = useNow();
  return (
    <div className="condition-times small">
      <span>
        <span className="hidden-text">lasts </span>
        <Lasts since={since} until={until} />
      </span>
      {since !== undefined && (
        <time className="soft" title={bothMoments(since)}>
          <span className="hidden-text">since </span>
          {upcomingTime(since, now)}
        </time>
      )}
    </div>
  );
}

type Muted = Omit<ComponentProps<typeof MuteDialog>, 'onClose'>;

/** A button that asks why and until when, and mutes. What is typed stays when the condition ends meanwhile. */
function useMuteButton(muted: Muted) {
  const [isMuting, setMuting] = useState(false);
  const muteButton = (
    <button
      type="button"
      className="button button-quiet button-small button-icon"
      aria-label={`Mute: ${muted.title}`}
      title="Mute"
      onClick={() => setMuting(true)}
    >
      <MuteIcon />
    </button>
  );
  return { muteButton, muteDialog: isMuting && <MuteDialog {...muted} onClose={() => setMuting(false)} /> };
}

export function MuteButton(muted: Muted) {
  const { muteButton, muteDialog } = useMuteButton(muted);
  return (
    <>
      {muteButton}
      {muteDialog}
    </>
  );
}

/** One condition with its cause, since when, what to do and its buttons. */
export function ConditionRow({ condition, hasName }: { condition: Condition; hasName: boolean }) {
  const { severity, message, remedy, code, path, mute, action } = condition;
  const [since, ended, measured] = [msOf(condition.since), msOf(condition.endedOn), msOf(condition.measuredOn)];
  const title = hasName ? conditionTitle(condition) : isolateText(message);
  const { muteButton, muteDialog } = useMuteButton({ title, condition, ofAll: false });
  return (
    <li className="condition">
      <SeverityMark severity={severity} />
      <div className="condition-text">
        <strong>{title}</strong>
        <p className="small soft break">
          {hasName && <UserText text={message} />} {ended === undefined && remedy}
        </p>
        <p className="small soft break">
          <span className="mono">{path === '' ? code : `${code} · ${path}`}</span>
          {ended === undefined && measured !== undefined && (
            <>
              {' '}
              · as of <Ago at={measured} />
            </>
          )}
        </p>
        {mute && <MuteNote mute={mute} />}
      </div>
      <Times since={since} until={ended} />
      {ended === undefined && (
        <div className="condition-do">
          {(hasName || action !== ConditionAction.OPEN_MACHINE) && <ConditionButton condition={condition} />}
          {mute === undefined && muteButton}
        </div>
      )}
      {muteDialog}
    </li>
  );
}

function MuteNote({ mute }: { mute: NonNullable<Condition['mute']> }) {
  const now = useNow();
  const again = useConditionsAgain();
  const unmute = useMutation(ConditionService.method.unmuteCondition, { onSuccess: again });
  return (
    <p className="small">
      Muted{mute.ofAll && ' with all of its kind'} until {mute.until && upcomingTime(timestampMs(mute.until), now)} by{' '}
      <UserText text={actorName(mute.mutedBy)} />: <UserText text={mute.reason} />{' '}
      <button
        type="button"
        className="link-button"
        disabled={unmute.isPending}
        onClick={() => unmute.mutate({ id: mute.id })}
      >
        Unmute
      </button>
      {unmute.error && <FailureNote error={unmute.error} />}
    </p>
  );
}

import { OnlineState, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { AlertIcon, CheckIcon, NoteIcon } from '../../../ui/icons.tsx';
import { Ago, useNow } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { bothMoments, earlierTime, msOf } from '../../../ui/times.ts';
import type { ReactNode } from 'react';
import { type Sentence, type Word } from './machine-sentence.ts';

const icons = {
  good: <CheckIcon />,
  quiet: <NoteIcon />,
  busy: <NoteIcon />,
  off: <NoteIcon />,
  warn: <AlertIcon />,
  bad: <AlertIcon />,
};

interface SentenceProps {
  machine: Machine;
  sentence: Sentence;
  children?: ReactNode;
}

/** What is true of the machine now, in one sentence, what to do, and how old the report is that says so. */
export function SentenceCard({ machine, sentence: { tone, head, detail, about }, children }: SentenceProps) {
  return (
    <section className={`card story-sentence story-${tone}`} aria-label="State">
      {icons[tone]}
      <div className="stack-tight">
        <div role="status">
          <h2 className="break">
            <Words words={head} />
          </h2>
        </div>
        {detail.length > 0 && (
          <p className="soft break">
            <Words words={detail} />
          </p>
        )}
        <p className="soft small">
          {machine.onlineState === OnlineState.AWAITING_SETUP ? (
            <Link to="/machines/add" search={{ machine: machine.id }}>
              Add this machine
            </Link>
          ) : (
            <ReportAge machine={machine} />
          )}
          {children}
        </p>
        {about && (
          <p className="soft small mono break">{about.path === '' ? about.code : `${about.code} · ${about.path}`}</p>
        )}
      </div>
    </section>
  );
}

const Words = ({ words }: { words: readonly Word[] }) =>
  words.map((word, place) => <OneWord key={`${place}`} word={word} />);

function OneWord({ word }: { word: Word }) {
  const now = useNow();
  if (typeof word === 'string') return word;
  if ('quoted' in word) return <UserText text={word.quoted} />;
  return <time title={bothMoments(word.at)}>{earlierTime(word.at, now)}</time>;
}

const ReportAge = ({ machine: { report, reportedOn, lastSeen } }: { machine: Machine }) => (
  <>
    {report ? (
      <>
        Reported <Ago at={msOf(reportedOn)} />
      </>
    ) : (
      'No report'
    )}
    {' · seen '}
    <Ago at={msOf(lastSeen)} />
  </>
);

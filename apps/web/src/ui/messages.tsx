import type { CSSProperties, ReactNode } from 'react';
import { failureOf } from './failures.ts';
import type { Tone } from './status-label.ts';
import { AlertIcon, CheckIcon, NoteIcon } from './icons.tsx';
import { showable } from '@platform/contract/text/names';

interface NoteProps {
  tone: Tone;
  children: ReactNode;
  action?: ReactNode;
  /** Screen readers announce it as soon as it appears. */
  isLive?: boolean;
}

export function Note({ tone, children, action, isLive = false }: NoteProps) {
  const icon = tone === 'good' ? <CheckIcon /> : tone === 'bad' || tone === 'warn' ? <AlertIcon /> : <NoteIcon />;
  return (
    <div className={`note note-${tone}`} {...(isLive ? { role: tone === 'bad' ? 'alert' : 'status' } : {})}>
      {icon}
      <div className="stack-tight">{children}</div>
      {action}
    </div>
  );
}

/** Shows what happened, the code to search for, and what to do. */
export function FailureNote({ error, action }: { error: unknown; action?: ReactNode }) {
  const failure = failureOf(error);
  return (
    <Note tone="bad" isLive action={action}>
      <p>
        {showable(failure.what)} <span className="soft">{failure.remedy}</span>
      </p>
      <p className="mono small soft">{failure.code}</p>
    </Note>
  );
}

export function Loading({ text = 'Loading …' }: { text?: string }) {
  return (
    <div className="wait" role="status">
      <span className="spinner" aria-hidden="true" />
      {text}
    </div>
  );
}

/** The rows of a list that loads, at the height that they will have. */
export function ListSkeleton({ rows = 12, isCard = false }: { rows?: number; isCard?: boolean }) {
  const bars = (
    <div className="skeleton" role="status" style={{ '--rows': rows } as CSSProperties}>
      <span className="hidden-text">Loading …</span>
    </div>
  );
  return isCard ? <div className="card">{bars}</div> : bars;
}

/** A list that was truncated at the server's limit. */
export const TruncatedNote = ({ isTruncated, what }: { isTruncated: boolean | undefined; what: string }) =>
  isTruncated === true && (
    <Note tone="warn">
      <p>There are more {what} than this page can show.</p>
    </Note>
  );

/** Shown instead of an empty list: what to do next. */
export function EmptyState({ icon, title, children }: { icon: ReactNode; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      {icon}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

import { Link, type LinkComponent, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { BackIcon } from './icons.tsx';

/** The link to the page above this one; typed as a link of the router. */
export const BackLink = (({ children, ...link }: LinkProps & { children?: ReactNode }) => (
  <Link {...link} className="crumb">
    <BackIcon />
    {children}
  </Link>
)) as LinkComponent<'a'>;

interface PageHeadProps {
  back?: ReactNode;
  title: ReactNode;
  /** One sentence under the title. */
  lead?: ReactNode;
  /** What the user can do on the page. */
  children?: ReactNode;
}

export const PageHead = ({ back, title, lead, children }: PageHeadProps) => (
  <div className="page-head">
    <div>
      {back}
      <h1>{title}</h1>
      {lead && <p className="soft">{lead}</p>}
    </div>
    {children}
  </div>
);

interface CardProps {
  title: string;
  /** Its name for screen readers, unless it is the title. */
  label?: string;
  /** Beside the title. */
  hint?: ReactNode;
  /** At the end of the head. */
  head?: ReactNode;
  className?: string;
  children?: ReactNode;
}

export const Card = ({ title, label = title, hint, head, className = '', children }: CardProps) => (
  <section className={`card ${className}`.trimEnd()} aria-label={label}>
    <div className="card-head">
      <h2>{title}</h2>
      {hint && <span className="soft small">{hint}</span>}
      {head}
    </div>
    {children}
  </section>
);

interface PairProps {
  name: string;
  /** The class of the value. */
  className?: string;
  isWide?: boolean;
  children: ReactNode;
}

/** One name with its value in a `dl` of class `pair-list`. */
export const Pair = ({ name, className, isWide = false, children }: PairProps) => (
  <div className={isWide ? 'wide' : undefined}>
    <dt>{name}</dt>
    <dd className={className}>{children}</dd>
  </div>
);

import { Link, Outlet, useMatchRoute } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { KeyboardDialog } from '../features/palette/keyboard.tsx';
import { BrandMark } from '../ui/brand.tsx';
import { LostContact } from '../ui/contact.tsx';
import {
  DatasetIcon,
  FragmentIcon,
  KeyboardIcon,
  MachineIcon,
  ModelIcon,
  OverviewIcon,
  SearchIcon,
  SettingsIcon,
  SignOutIcon,
  TrainingIcon,
} from '../ui/icons.tsx';
import { Loading } from '../ui/messages.tsx';
import { NextTask } from '../ui/next-task.tsx';
import { useSession } from '../entities/session/session.tsx';

const places: readonly {
  to: '/' | '/machines' | '/fragments' | '/training' | '/datasets' | '/models' | '/settings';
  name: string;
  icon: ReactNode;
  /** A page that is reached from it, with an address of its own. */
  also?: '/conditions' | '/runners' | '/scripts';
}[] = [
  { to: '/', name: 'Overview', icon: <OverviewIcon />, also: '/conditions' },
  { to: '/machines', name: 'Machines', icon: <MachineIcon /> },
  { to: '/fragments', name: 'Fragments', icon: <FragmentIcon /> },
  { to: '/training', name: 'Training', icon: <TrainingIcon />, also: '/runners' },
  { to: '/datasets', name: 'Datasets', icon: <DatasetIcon /> },
  { to: '/models', name: 'Models', icon: <ModelIcon />, also: '/scripts' },
  { to: '/settings', name: 'Settings', icon: <SettingsIcon /> },
];

const Keyboard = lazy(async () => ({ default: (await import('../features/palette/keyboard.tsx')).Keyboard }));
const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** The frame around every page; the labelling screen has the whole window. */
export function Frame() {
  const matchRoute = useMatchRoute();
  const isFullScreen = matchRoute({ to: '/datasets/$datasetId/label' }) !== false;
  const [dialog, setDialog] = useState<KeyboardDialog>();
  if (isFullScreen)
    return (
      <main id="content" tabIndex={-1}>
        <Outlet />
      </main>
    );
  return (
    <div className="frame">
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <header className="side">
        <Link to="/" className="brand">
          <BrandMark />
          Platform
        </Link>
        <button
          type="button"
          className="side-search"
          aria-keyshortcuts="Control+K Meta+K"
          onClick={() => setDialog('palette')}
        >
          <SearchIcon />
          <span className="side-search-text">Search or jump</span>
          <kbd className="key side-version">{isApple ? '⌘ K' : 'Ctrl K'}</kbd>
        </button>
        <nav aria-label="Main">
          <ul className="side-links">
            {places.map(({ to, name, icon, also }) => (
              <li key={to}>
                <Link
                  to={to}
                  className="side-link"
                  activeOptions={{ exact: to === '/' }}
                  activeProps={{ 'aria-current': 'page' }}
                  {...(also && matchRoute({ to: also }) !== false && { 'aria-current': 'true' })}
                >
                  {icon}
                  {name}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <Who onShortcuts={() => setDialog('shortcuts')} />
      </header>
      <main className="content" id="content" tabIndex={-1}>
        <LostContact />
        <Page />
      </main>
      <Suspense>
        <Keyboard shown={dialog} onShow={setDialog} />
      </Suspense>
    </div>
  );
}

const Page = () => (
  <NextTask instead={<Loading />}>
    <Outlet />
  </NextTask>
);

function Who({ onShortcuts }: { onShortcuts: () => void }) {
  const { name, organization, organizations, choose, signOut, serverVersion } = useSession();
  return (
    <div className="side-foot">
      <div className="side-who" title={`${organization.role} of ${organization.organizationName}`}>
        {organizations.length > 1 ? (
          <select
            className="select"
            aria-label="Organization"
            value={organization.organizationId}
            onChange={(event) => choose(event.target.value)}
          >
            {organizations.map((one) => (
              <option key={one.organizationId} value={one.organizationId}>
                {one.organizationName}
              </option>
            ))}
          </select>
        ) : (
          <strong>{organization.organizationName}</strong>
        )}
      </div>
      <div className="side-version">{name}</div>
      <div className="row">
        <button type="button" className="button button-quiet button-small" aria-label="Sign out" onClick={signOut}>
          <SignOutIcon />
          <span className="side-version">Sign out</span>
        </button>
        <button
          type="button"
          className="button button-quiet button-small button-icon side-version"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
          onClick={onShortcuts}
        >
          <KeyboardIcon />
        </button>
        {serverVersion && <span className="side-version push">{serverVersion}</span>}
      </div>
    </div>
  );
}

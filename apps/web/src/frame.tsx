import { Link, Outlet, useMatchRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { BrandMark } from './parts/brand.tsx';
import { LostContact } from './parts/contact.tsx';
import { DatasetIcon, MachineIcon, ModelIcon, SettingsIcon, SignOutIcon, TrainingIcon } from './parts/icons.tsx';
import { useSession } from './session.tsx';

const places: readonly {
  to: '/machines' | '/training' | '/datasets' | '/models' | '/settings';
  name: string;
  icon: ReactNode;
}[] = [
  { to: '/machines', name: 'Machines', icon: <MachineIcon /> },
  { to: '/training', name: 'Training', icon: <TrainingIcon /> },
  { to: '/datasets', name: 'Datasets', icon: <DatasetIcon /> },
  { to: '/models', name: 'Models', icon: <ModelIcon /> },
  { to: '/settings', name: 'Settings', icon: <SettingsIcon /> },
];

/** The frame around every page; the labelling screen has the whole window. */
export function Frame() {
  const isFullScreen = useMatchRoute()({ to: '/datasets/$datasetId/label' }) !== false;
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
        <Link to="/machines" className="brand">
          <BrandMark />
          Platform
        </Link>
        <nav aria-label="Main">
          <ul className="side-links">
            {places.map(({ to, name, icon }) => (
              <li key={to}>
                <Link to={to} className="side-link" activeProps={{ 'aria-current': 'page' }}>
                  {icon}
                  {name}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <Who />
      </header>
      <main className="content" id="content" tabIndex={-1}>
        <LostContact />
        <Outlet />
      </main>
    </div>
  );
}

function Who() {
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
        {serverVersion && <span className="side-version push">{serverVersion}</span>}
      </div>
    </div>
  );
}

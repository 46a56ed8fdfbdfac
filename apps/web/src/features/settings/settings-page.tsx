import { Link, Outlet } from '@tanstack/react-router';
import { ServerCard } from './server-card.tsx';
import { ApiKeys } from './api-keys.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useSession } from '../../entities/session/session.tsx';

const subjects = [
  { to: '/settings/organization', name: 'Organization' },
  { to: '/settings/keys', name: 'API keys' },
  { to: '/settings/server', name: 'Server' },
  { to: '/settings/releases', name: 'Releases' },
] as const;

/** Each subject has an address of its own. */
export const SettingsPage = () => (
  <div className="page">
    <h1>Settings</h1>
    <Tabs label="Settings">
      {subjects.map(({ to, name }) => (
        <Link key={to} to={to} className="tab" activeProps={{ 'aria-current': 'page' }}>
          {name}
        </Link>
      ))}
    </Tabs>
    <Outlet />
  </div>
);

export const KeySettings = () => (
  <>
    <title>API keys · Settings · Platform</title>
    <ApiKeys />
  </>
);

export function ServerSettings() {
  const { serverVersion } = useSession();
  return (
    <>
      <title>Server · Settings · Platform</title>
      <ServerCard version={serverVersion} />
    </>
  );
}

import { Link } from '@tanstack/react-router';
import '../../../ui/style/training.css';

/** The two kinds of items in the registry. */
export const RegistryTabs = () => (
  <nav aria-label="Registry" className="row">
    <Link to="/models" className="choice choice-link">
      Models
    </Link>
    <Link to="/scripts" className="choice choice-link">
      Training scripts
    </Link>
  </nav>
);

export const VersionName = ({ version, isLatest }: { version: string; isLatest: boolean }) => (
  <span className="row">
    <strong className="break">{version}</strong>
    {isLatest && <span className="badge is-good">latest</span>}
  </span>
);

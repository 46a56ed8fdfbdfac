import { Link } from '@tanstack/react-router';

export const NotFoundPage = () => (
  <div className="page">
    <h1>Page not found</h1>
    <p className="soft">The address may have a slip, or what it named was deleted.</p>
    <p>
      <Link to="/machines">To the machines</Link>
    </p>
  </div>
);

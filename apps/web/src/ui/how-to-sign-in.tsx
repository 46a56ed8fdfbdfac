import { Command } from './copying.tsx';

export const HowToSignIn = () => (
  <>
    <Command text="npm run -s platform -- sign-in" />
    <p className="soft">
      Then open the link that it prints in this browser. The first link is also printed by <code>npm start</code>. This
      page goes on by itself.
    </p>
    <p className="soft small">
      If a link was used or has expired, make a new one the same way. From another computer, set{' '}
      <code>PLATFORM_URL</code>, <code>PLATFORM_API_KEY_ID</code> and <code>PLATFORM_API_KEY</code> first.
    </p>
  </>
);

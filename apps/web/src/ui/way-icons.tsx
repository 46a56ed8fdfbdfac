import { Icon } from './icons.tsx';

/** Only the page that adds machines needs these. */
export const TerminalIcon = () => (
  <Icon>
    <rect x="3" y="5" width="18" height="14" rx="2" />
    <path d="m7 10 3 2.5L7 15M12.5 15H16" />
  </Icon>
);
export const WindowsIcon = () => (
  <Icon>
    <path d="M4 6.5 11 5.4V11.5H4zM13 5.1 20 4v7.5h-7zM4 13.5h7v6L4 18.4zM13 13.5h7V21l-7-1.1z" />
  </Icon>
);
export const ContainerIcon = () => (
  <Icon>
    <path d="M3.5 8 12 4l8.5 4v8L12 20l-8.5-4z" />
    <path d="M3.5 8 12 12l8.5-4M12 12v8" />
  </Icon>
);
export const CardIcon = () => (
  <Icon>
    <path d="M6 3h9l4 4v14H6z" />
    <path d="M9 6v3M12 6v3M15 7.5V9" />
  </Icon>
);
export const PhoneIcon = () => (
  <Icon>
    <rect x="7" y="3" width="10" height="18" rx="2" />
    <path d="M11 18h2" />
  </Icon>
);

export const BrandMark = () => (
  <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" fill="#1a5fd0" />
    <path
      d="M9 20.5 16 24l7-3.5M9 16l7 3.5L23 16M16 8l7 3.5L16 15l-7-3.5z"
      fill="none"
      stroke="#fff"
      strokeWidth="2"
      strokeLinejoin="round"
      strokeLinecap="round"
    />
  </svg>
);

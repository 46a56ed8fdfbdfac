/** Names that loggers use for each level, the most important level first. A name of none of them counts as info. */
export const levelNames = {
  error: ['error', 'dpanic', 'panic', 'fatal'],
  warn: ['warn', 'warning'],
  info: ['info'],
  debug: ['debug', 'trace'],
} as const;
export type LogLevel = keyof typeof levelNames;
export const logLevels = Object.keys(levelNames) as LogLevel[];

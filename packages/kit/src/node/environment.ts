/** A whole environment of a process; undefined: not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that configure our programs, and the mark by which Node's test runner recognizes its children. */
const ofThisProcess = /^(?:PLATFORM_.*|DATABASE_URL|NODE_TEST_CONTEXT)$/;

/**
 * The environment for a child: `of`, by default that of this process, without the variables that configure our
 * programs. What stands in a user's shell must not change what the child does, and it gets no keys. What the child
 * needs of these comes in `more`.
 */
export const plainEnvironment = (more: Environment = {}, of: Environment = process.env): Record<string, string> => {
  const inherited = Object.fromEntries(Object.entries(of).filter(([name]) => !ofThisProcess.test(name)));
  return Object.fromEntries(
    Object.entries({ ...inherited, ...more }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};

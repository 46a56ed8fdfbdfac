/** A file that a compiler puts into the program; the import is its path. */
declare module '*.wasm' {
  const file: string;
  export default file;
}

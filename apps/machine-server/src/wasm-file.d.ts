/** A file that the compiler embeds in the program; the import is its path. */
declare module '*.wasm' {
  const file: string;
  export default file;
}

/** What other programs import of the package, as `musterd/<name>`: docs/decisions/0013-a-library-in-the-package.md */
export const entryPoints: Readonly<Record<string, string>> = {
  client: 'src/service/library/create-client.ts',
  emulator: 'src/emulator/start-emulator.ts',
};

/** Where the built ones are, with their types beside them. */
export const libraryFolder = 'library';

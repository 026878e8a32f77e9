/**
 * `node scripts/declare.ts [folder]` writes the types of each entry point into one file, and compares them with its description in
 * `docs/api`, which it writes anew with UPDATE_API=1: docs/decisions/0013-a-library-in-the-package.md
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import {
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  type ExtractorMessage,
} from '@microsoft/api-extractor';
import { entryPoints, libraryFolder } from './entry-points.ts';

const root = dirname(import.meta.dirname);
const folder = resolve(process.argv[2] ?? 'dist', libraryFolder);
const reports = join(root, 'docs', 'api');
const typeRoots = [join(root, 'node_modules', '@types')];

/** Writes a file of types for each file of the source that an entry point reaches. */
function declareEach(outDir: string): void {
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      outDir,
      rootDir: root,
      typeRoots,
    },
    include: [],
    files: Object.values(entryPoints).map((source) => join(root, source)),
  };
  const path = join(outDir, 'tsconfig.json');
  writeFileSync(path, JSON.stringify(config));
  execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', path], { stdio: 'inherit' });
}

/** What is wrong with the types of an entry point is an error, such as a name that nobody can import. */
function report(message: ExtractorMessage): void {
  message.handled = true;
  if (message.logLevel !== ExtractorLogLevel.Error && message.logLevel !== ExtractorLogLevel.Warning) return;
  process.stderr.write(`${message.formatMessageWithLocation(root)}\n`);
}

/** Joins the types of one entry point into one file, and compares its description. */
function declareOne(name: string, mainEntryPointFilePath: string, temporary: string): void {
  const extractorConfig = ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'es2024',
            lib: ['es2024', 'esnext.disposable'],
            module: 'esnext',
            moduleResolution: 'bundler',
            allowImportingTsExtensions: true,
            noEmit: true,
            strict: true,
            types: ['node'],
            typeRoots,
          },
          files: [mainEntryPointFilePath],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: name,
        reportFolder: reports,
        reportTempFolder: temporary,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: true, untrimmedFilePath: join(folder, `${name}.d.ts`) },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.Error },
          'ae-missing-release-tag': { logLevel: ExtractorLogLevel.None },
          'ae-undocumented': { logLevel: ExtractorLogLevel.None },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
      newlineKind: 'lf',
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
  });
  const localBuild = process.env['UPDATE_API'] === '1';
  const { succeeded, apiReportChanged } = Extractor.invoke(extractorConfig, {
    localBuild,
    messageCallback: report,
  });
  if (!succeeded) process.exitCode = 1;
  if (apiReportChanged && !localBuild)
    process.stderr.write(`docs/api/${name}.api.md is not what the types say: see CONTRIBUTING.md\n`);
}

const temporary = mkdtempSync(join(tmpdir(), 'musterd-types-'));
try {
  mkdirSync(reports, { recursive: true });
  // The types of packages are found from there as well.
  symlinkSync(join(root, 'node_modules'), join(temporary, 'node_modules'));
  declareEach(temporary);
  for (const [name, source] of Object.entries(entryPoints)) {
    declareOne(name, join(temporary, source.replace(/\.ts$/, '.d.ts')), temporary);
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

import { previewImport } from '../runs/import/import-users.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { type FileOptions, lookOnly, readRequest } from './import.ts';
import { printJson, printLine } from './output.ts';
import { withMirror } from './setup.ts';
import { importInJson, printPreview, printPreviewInMarkdown, sayGuard } from './show-import.ts';

/** Shows what an import of the file would change, like "import --dry-run". It does not ask the service. */
export async function planFromCommand(
  context: Context,
  options: FileOptions & { readonly exitCode?: boolean; readonly markdown?: boolean },
  file: string,
): Promise<ExitCode> {
  const request = await readRequest(context, options, file);
  return withMirror(context, async (setup) => {
    const preview = await previewImport(setup, request);
    const { code, why } = lookOnly(preview, options);
    const guard = sayGuard(preview, setup.config, { why: undefined });
    if (context.json) printJson(context, importInJson(preview, undefined, why));
    else if (options.markdown === true) printPreviewInMarkdown(context, preview, { guard, why });
    else {
      printPreview(context, preview, guard);
      printLine(context.err, why);
    }
    const differs = code === exitCode.ok && preview.changes.length > 0;
    return options.exitCode === true && differs ? exitCode.changes : code;
  });
}

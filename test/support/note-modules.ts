/** For `node --import`: what was loaded by the end is written to the file that NOTED_MODULES names, a line each. */
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const loaded = new Set<string>();
registerHooks({
  load: (url, context, next) => {
    loaded.add(url);
    return next(url, context);
  },
});
process.on('exit', () => writeFileSync(process.env['NOTED_MODULES'] ?? '', [...loaded].join('\n')));

// Imports what it is told, and says what was loaded for it.
import { registerHooks } from 'node:module';

const loaded = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
await import(process.argv[2]);
process.stdout.write(JSON.stringify(loaded));

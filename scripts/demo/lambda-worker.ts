/**
 * A process of the Lambda functions.
 *
 * @module
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { lambdaContext } from '../../test/support/aws-events.ts';
import { ROOT } from '../run.ts';
import { serve } from './calls.ts';

type Handler = (event: unknown, context: object) => Promise<unknown>;

const endsAtMs = (): number => Date.now() + 28_000;

serve({
  async invoke({ name, event }: { name: string; event: unknown }) {
    const { handler } = (await import(pathToFileURL(join(ROOT, `functions/dist/aws/${name}.js`)).href)) as { handler: Handler };
    const deadlineMs = endsAtMs();
    return (
      (await handler(
        event,
        lambdaContext(() => deadlineMs - Date.now()),
      )) ?? null
    );
  },
});

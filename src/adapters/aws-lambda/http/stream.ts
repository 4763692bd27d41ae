/**
 * HTTP in Lambda with streamed answers.
 *
 * @module
 */
import type { Writable } from 'node:stream';
import type { Context } from 'aws-lambda';
import { invalidOptions } from '../../../core/options.ts';
import { guardAnswers } from '../../../http/guard-answers.ts';
import { named } from '../../named.ts';
import { type EngineOptions, engineFrom, type HttpHandler, type Streams } from './engine.ts';
import { HandedStreams } from './handed-streams.ts';
import { preludeFrom } from './reply.ts';
import { type HttpEvent, readRequest } from './request.ts';
import { isResponseStream, markStreaming, sendAnswer } from './send-answer.ts';
import { type StreamedAnswer, type StreamReply, streamReplyFrom } from './stream-reply.ts';

/**
 * A handler that Lambda calls with a response stream. Everything is sent, and every stream of the user's handler is at its end or closed, before it
 * returns: nothing may go on while the sandbox is frozen.
 */
export function streaming(
  options: EngineOptions<HttpEvent, StreamedAnswer> & { readonly streams: Streams },
  handler: HttpHandler<StreamedAnswer>,
): unknown {
  const { streams } = options;
  const { bound, invoke } = engineFrom<StreamedAnswer>(options, (answer) => closing((handed) => streamReplyFrom(answer, streams, handed)));
  const wrapped = named(handler, async (event: HttpEvent, stream: Writable, context: Context): Promise<void> => {
    if (!isResponseStream(stream)) throw withoutStream();
    await invoke(event, context, async (call) => {
      const { shape, view } = readRequest(event);
      if (shape === 'alb' || shape === 'alb-multi-value') throw balanced();
      await closing(async (handed) => {
        const guarded = await guardAnswers<HttpEvent, StreamedAnswer, StreamReply>(bound, event, view, call, {
          handle: (run) => handler(event, context, run),
          replyFrom: (answer) => streamReplyFrom(answer, streams, handed, call.signal),
        });
        const reply = guarded.kind === 'passed' ? await streamReplyFrom(guarded.answer, 'pass', handed) : guarded.reply;
        const { prelude, body } = reply.goesOut ?? { prelude: preludeFrom(shape, reply), body: reply.body };
        await sendAnswer(stream, prelude, body, call.signal);
      });
    });
  });
  return markStreaming(wrapped);
}

async function closing<R>(work: (handed: HandedStreams) => Promise<R>): Promise<R> {
  const handed = new HandedStreams();
  try {
    return await work(handed);
  } finally {
    handed.close();
  }
}

const balanced = (): Error =>
  invalidOptions('idempotentHttp', ['streams is set, and a load balancer takes no streams: leave the option out for its events. Nothing was run']);

const withoutStream = (): Error =>
  invalidOptions('idempotentHttp', [
    'streams is set, so it is called with (event, responseStream, context), and there was no response stream. Export the handler as it is: what is wrapped around it hides from Lambda that it streams. Nothing was run',
  ]);

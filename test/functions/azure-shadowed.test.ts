import type { InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { keys } from '../../src/adapters/azure-functions/index.ts';

const contextOf = (type: string, triggerMetadata: object) => ({ options: { trigger: { type } }, triggerMetadata }) as unknown as InvocationContext;
const refused = expect.objectContaining({ code: 'MISSING_KEY' });

const utf32 = (text: string): Buffer => {
  const bytes = Buffer.alloc(4 + 4 * text.length);
  bytes.set([0xff, 0xfe]);
  for (let at = 0; at < text.length; at++) bytes.writeUInt32LE(text.charCodeAt(at), 4 + 4 * at);
  return bytes;
};

describe("a body whose properties stand in the place of the trigger's own", () => {
  it.each([
    ['plain', '{"id":"victim"}'],
    ['behind a blank that only the host takes for one', '\u0085{"id":"victim"}'],
  ])('I1 a queue text, %s, gives no key', (_, text) => {
    expect(() => keys.storageQueueMessageId(text, contextOf('queueTrigger', { id: 'victim' }))).toThrow(refused);
  });

  const uri = 'https://a/b';
  it.each([
    ['behind many blanks', Buffer.from(`${' '.repeat(300)}{"uri":"${uri}"}`)],
    ['in UTF-32', utf32(`{"uri":"${uri}"}`)],
  ])('I1 a blob, %s, gives no key', (_, bytes) => {
    expect(() => keys.blobVersion(bytes, contextOf('blobTrigger', { uri, properties: { eTag: 'x' } }))).toThrow(refused);
  });
});

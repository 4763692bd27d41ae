import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { newIntent } from '../../../src/adapters/client/index.ts';
import { post, quickClient, scripted } from './server.ts';

/** Never ends, and says when nobody reads it any more. */
function endless(): { stream: ReadableStream<Uint8Array>; cancelled: Promise<unknown> } {
  let told: (reason: unknown) => void = () => {};
  const cancelled = new Promise<unknown>((resolve) => {
    told = resolve;
  });
  return { stream: new ReadableStream({ cancel: told }), cancelled };
}

const form = (): FormData => {
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array([0, 255, 10])]), 'f.bin');
  return body;
};

describe('the body', () => {
  it.each<[string, () => RequestInit['body'], string | undefined, number]>([
    ['text', () => 'é', 'text/plain;charset=UTF-8', 2],
    ['bytes', () => new Uint8Array([0, 255, 10]), undefined, 3],
    ['a blob', () => new Blob(['abc'], { type: 'image/png' }), 'image/png', 3],
    ['search parameters', () => new URLSearchParams({ a: '1' }), 'application/x-www-form-urlencoded;charset=UTF-8', 3],
    ['a web stream', () => new Blob(['abc']).stream(), undefined, 3],
    ['a Node stream', () => Readable.from([Buffer.from('ab'), Buffer.from('c')]) as never, undefined, 3],
    ['nothing', () => null, undefined, 0],
  ])('I1 %s is sent again byte for byte', async (_, body, type, length) => {
    await using server = await scripted('drop');
    const { send, settled } = quickClient();
    await settled(send(server.url, { method: 'POST', body: body() ?? null, duplex: 'half' }, newIntent()));
    const [first, second] = server.seen;
    expect([first?.headers['content-type'], first?.body.length]).toEqual([type, length]);
    expect([second?.headers['content-type'], second?.body]).toEqual([type, first?.body]);
    expect(second?.headers['content-length']).toBe(String(length));
  });

  it('I1 a form keeps its boundary', async () => {
    await using server = await scripted('drop');
    const { send, settled } = quickClient();
    await settled(send(server.url, { method: 'POST', body: form() }, newIntent()));
    expect(server.seen[0]?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(server.seen[1]?.headers['content-type']).toBe(server.seen[0]?.headers['content-type']);
    expect(server.seen[1]?.body).toEqual(server.seen[0]?.body);
  });

  it('I1 a Request is sent again with its method, headers and settings; what is given beside it comes first', async () => {
    await using server = await scripted('drop', { status: 302, headers: { location: '/elsewhere' } });
    const { send, settled } = quickClient();
    const request = new Request(server.url, { ...post('{"a":1}'), method: 'PATCH', redirect: 'manual' });
    const response = await settled(send(request, undefined, newIntent()));
    expect([response.status, response.tries]).toEqual([302, 2]);
    expect(server.seen.map(({ method, body }) => `${method} ${body}`)).toEqual(['PATCH {"a":1}', 'PATCH {"a":1}']);
    await settled(send(new Request(server.url, post()), { method: 'patch', body: 'b', headers: { 'x-a': '1' } }, newIntent()));
    const { method, headers, body } = server.seen[2] ?? {};
    expect([method, headers?.['x-a'], body?.toString()]).toEqual(['PATCH', '1', 'b']);
  });

  it('a longer one than can be kept is refused, and its source let go', async () => {
    await using server = await scripted();
    const { send } = quickClient({ maxBodyBytes: 4 });
    await expect(send(server.url, post('12345'), newIntent())).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    let let_go = false;
    const source = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(3)),
      cancel: () => {
        let_go = true;
      },
    });
    await expect(send(server.url, { method: 'POST', body: source, duplex: 'half' }, newIntent())).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect([let_go, server.seen.length]).toEqual([true, 0]);
  });

  it('of something else than bytes is refused', async () => {
    const { send } = quickClient();
    const body = new ReadableStream({ pull: (controller) => controller.enqueue('text') });
    await expect(send('http://127.0.0.1:9/', { method: 'POST', body, duplex: 'half' }, newIntent())).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
    await expect(send('file:///etc/passwd', post(), newIntent())).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it('I12 that never ends is let go when the signal aborts', async () => {
    const { send } = quickClient();
    const { stream, cancelled } = endless();
    const controller = new AbortController();
    const sent = send('http://127.0.0.1:9/', { method: 'POST', body: stream, duplex: 'half', signal: controller.signal }, newIntent());
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(sent).rejects.toBe(reason);
    await expect(cancelled).resolves.toBe(reason);
    const late = { method: 'POST', body: endless().stream, duplex: 'half', signal: AbortSignal.abort(reason) } as const;
    await expect(send('http://127.0.0.1:9/', late, newIntent())).rejects.toBe(reason);
  });

  it('that fails while it is read sends nothing', async () => {
    await using server = await scripted();
    const { send } = quickClient();
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('disk')) });
    await expect(send(server.url, { method: 'POST', body: broken, duplex: 'half' }, newIntent())).rejects.toThrow('disk');
    expect(server.seen).toEqual([]);
  });
});

import assert from 'node:assert/strict';
import { FOREVER_MS, type Outcome, type RecordToWrite, type StoredStep } from '../../core/record.ts';
import { assertSame, completed, conflict, freshId, put, type RecordStoreCase, roundTrip, sample, tooLarge, written } from './subject.ts';

const COLUMN_TEXT = 'ä ß 漢字 😀 \u2028 "quoted" \'single\' back\\slash\nnew\r\nline\ttab %2F #1 ?a=b <b>&amp;</b> {{y}} $x';
/** The body is JSON, so nothing in it can be out of bounds: control characters and half of a surrogate pair neither. */
const BODY_TEXT = `${COLUMN_TEXT} \u0000 \u001f \u007f \ufeff \ud800`;
/** Room for the columns beside the body. */
const COLUMNS_BYTES = 4096;
/** Beyond this a case would measure patience. */
const LARGEST_TESTED_BYTES = 8 * 1_048_576;

const exactly = (title: string, changes: Partial<RecordToWrite>): RecordStoreCase => ({
  title: `comes back exactly: ${title}`,
  run: (subject) => roundTrip(subject, sample(changes)),
});

const outcome = (title: string, value: Outcome): RecordStoreCase => exactly(`outcome, ${title}`, { state: 'completed', outcome: value });

const body = (title: string, text: string): RecordStoreCase => ({
  title: `comes back exactly: a body of ${title}`,
  async run(subject) {
    const bytes = Buffer.byteLength(JSON.stringify(text)) + COLUMNS_BYTES;
    // A store with a smaller limit has to say so; either way it must not fail, and must not cut anything off.
    if (bytes <= subject.store.limits.maxRecordBytes) return roundTrip(subject, completed({ outcome: { kind: 'value', value: text } }));
    await keptOrRefused(subject.store, text);
  },
});

async function keptOrRefused(store: Parameters<RecordStoreCase['run']>[0]['store'], text: string): Promise<'kept' | 'refused'> {
  const [id, record] = [freshId(), completed({ outcome: { kind: 'value', value: text } })];
  const result = await store.create(id, record);
  if (result.ok) {
    assertSame(await store.read(id), record, result);
    await store.delete(id, result.version);
    return 'kept';
  }
  tooLarge(result);
  assert.equal(await store.read(id), undefined, 'what is refused for its size must not be written');
  return 'refused';
}

const steps = (entries: readonly [string, StoredStep][]): Readonly<Record<string, StoredStep>> => Object.fromEntries(entries);

/** What was written is what comes back, in every field, up to the limit; beyond it the refusal is a value. */
export const fidelity: readonly RecordStoreCase[] = [
  exactly('every optional field', {
    scope: 'c2NvcGU',
    label: 'order-1',
    fingerprint: 'v1:abc',
    holder: 'host/1',
    slot: 1_767_225_600_000,
    outcome: { kind: 'value', value: [1, 'two', null, { three: true }] },
    steps: { one: { outcome: { kind: 'value', value: 1 }, fingerprint: 'v1:s' }, two: { outcome: { kind: 'not-stored', reason: 'too-large' } } },
  }),
  exactly('numbers at their ends', {
    token: Number.MAX_SAFE_INTEGER - 1,
    attempt: 1_000_000,
    leaseMs: 0,
    retentionMs: FOREVER_MS,
    createdAtMs: 0,
    slot: 0,
  }),
  exactly('a token of today in ms, and a slot far ahead', { token: 1_798_761_599_999, slot: 4_102_444_800_000 }),
  exactly('empty texts', { scope: '', label: '', fingerprint: '', holder: '' }),
  exactly('texts with letters, signs and line breaks of all kinds', { operation: `odd/${COLUMN_TEXT}`, label: COLUMN_TEXT, holder: COLUMN_TEXT }),
  exactly('a label of 255 bytes of two-byte letters', { label: 'ä'.repeat(127) }),
  ...(['running', 'completed', 'released', 'blocked'] as const).map((state) => exactly(`state ${state}`, { state })),
  outcome('a value', { kind: 'value', value: { a: [0, -1.5, 1e21, true, false, null, ''], 'b c': { d: {} } } }),
  outcome('the value null', { kind: 'value', value: null }),
  outcome('an error with code and data', {
    kind: 'error',
    error: { name: 'CardError', message: BODY_TEXT, code: 'declined', data: { last4: '4242' } },
  }),
  outcome('an error with a number as its code', { kind: 'error', error: { name: 'E', message: '', code: 0 } }),
  outcome('not stored, too large', { kind: 'not-stored', reason: 'too-large' }),
  outcome('not stored, not serializable', { kind: 'not-stored', reason: 'not-serializable' }),
  exactly('no steps at all, as an empty object', { steps: {} }),
  exactly('steps with odd names', {
    steps: steps([
      ['', { outcome: { kind: 'value', value: 0 } }],
      [BODY_TEXT, { outcome: { kind: 'value', value: BODY_TEXT } }],
      ['__proto__', { outcome: { kind: 'value', value: 'own' } }],
      ['constructor', { outcome: { kind: 'value', value: 'own' } }],
    ]),
  }),
  exactly('a hundred steps', {
    steps: steps(Array.from({ length: 100 }, (_, n) => [`step-${n}`, { outcome: { kind: 'value', value: { n } } }])),
  }),
  body('1 KB', 'x'.repeat(1024)),
  body('60 KB', 'x'.repeat(60 * 1024)),
  body('200 KB', 'x'.repeat(200 * 1024)),
  body('60 KB of quotes and backslashes', '"\\'.repeat(15 * 1024)),
  // Stores that cut a text into pieces of 64 KiB must not cut a character in two, wherever the cut falls.
  body('100 KB of characters of four bytes', '😀'.repeat(25 * 1024)),
  body('100 KB of characters of four bytes, shifted by one', `x${'😀'.repeat(25 * 1024)}`),
  body('90 KB of characters of three bytes', '漢'.repeat(30 * 1024)),
  {
    title: 'limits are stated, and are whole numbers',
    async run({ store }) {
      const { maxRecordBytes, inlineBytes, maxKeyBytes } = store.limits;
      for (const limit of [maxRecordBytes, inlineBytes, maxKeyBytes]) assert.ok(Number.isSafeInteger(limit) && limit > 0, `a limit is ${limit}`);
      assert.ok(inlineBytes <= maxRecordBytes);
      assert.ok(store.name.length > 0);
    },
  },
  {
    title: 'a body just under the limit comes back exactly',
    async run({ store }) {
      const bytes = Math.min(store.limits.maxRecordBytes, LARGEST_TESTED_BYTES) - COLUMNS_BYTES;
      assert.equal(await keptOrRefused(store, 'x'.repeat(bytes)), 'kept');
    },
  },
  {
    title: 'around the limit a body is kept whole or refused, never cut, never an error',
    async run({ store }) {
      const limit = Math.min(store.limits.maxRecordBytes, LARGEST_TESTED_BYTES);
      for (const offset of [-2048, -1024, -512, -256, 0, 1, 1024, 16_384]) await keptOrRefused(store, 'x'.repeat(limit + offset));
    },
  },
  {
    title: 'too large is a value: create writes nothing, and the id stays free',
    async run({ store }) {
      const [id, record] = [freshId(), sample()];
      const large = completed({ outcome: { kind: 'value', value: 'x'.repeat(store.limits.maxRecordBytes * 2) } });
      tooLarge(await store.create(id, large));
      assert.equal(await store.read(id), undefined);
      const receipt = await put(store, id, record);
      assertSame(await store.read(id), record, receipt);
    },
  },
  {
    title: 'too large is a value: replace changes nothing, and the version still stands',
    async run({ store }) {
      const [id, record] = [freshId(), sample({ label: 'kept' })];
      const receipt = await put(store, id, record);
      const large = completed({ outcome: { kind: 'value', value: 'x'.repeat(store.limits.maxRecordBytes * 2) } });
      tooLarge(await store.replace(id, large, receipt.version));
      assertSame(await store.read(id), record, receipt);
      const without = completed({ outcome: { kind: 'not-stored', reason: 'too-large' } });
      const second = written(await store.replace(id, without, receipt.version));
      assertSame(await store.read(id), without, second);
      conflict(await store.replace(id, sample(), receipt.version));
    },
  },
];

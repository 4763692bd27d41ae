/**
 * Enters each price list that a supplier puts into the bucket into the books. What is in it is read later.
 *
 * @module
 */
import { idempotent, keys } from 'rerunsafe/aws-lambda';
import { put, store } from './stores.ts';

export const handler = idempotent(
  // A file has no id of its own. One that is put again, under its old name too, has another sequencer: it is another list.
  { store, operation: 'imports/enter', key: keys.s3Object },
  async ({ Records }, _context, run) => {
    for (const { s3 } of Records) {
      const file = `${s3.bucket.name}/${decodeURIComponent(s3.object.key.replaceAll('+', ' '))}`;
      await put(`import/${run.keyFor('item')}`, { file, bytes: s3.object.size, enteredAt: new Date().toISOString() }, run.signal);
    }
  },
);

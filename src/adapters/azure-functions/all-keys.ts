/**
 * `keys.…`: everything that can be asked for by name.
 *
 * @module
 */
export { cloudEvent, cloudEventHeaders, gitHubDelivery, standardWebhook, stripeEvent } from '../webhook-keys.ts';
export {
  blobVersion,
  cosmosDbVersion,
  eventGridId,
  eventHubOffset,
  kafkaOffset,
  serviceBusMessageId,
  serviceBusNumericMessageId,
  serviceBusSequenceNumber,
  storageQueueMessageId,
} from './keys.ts';

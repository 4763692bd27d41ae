import { randomUUID } from 'node:crypto';
import { dynamodbStore } from 'rerunsafe/dynamodb';
import { type Emulator, javaAvailable, startDynamoDbLocal } from '../../test/support/dynamodb.ts';
import { powertoolsTable } from '../../test/support/powertools.ts';
import { bareOnDynamodb } from './calls/bare-dynamodb.ts';
import { powertoolsOnDynamodb } from './calls/powertools.ts';
import { rerunsafe } from './calls/rerunsafe.ts';
import type { Contender, Service } from './cells.ts';
import { meterOf } from './meter.ts';
import type { Peer } from './peer.ts';

export interface DynamodbService extends Service {
  readonly emulator: Emulator;
  readonly tableName: string;
}

/** Long enough for a claim on a machine that is busy. */
const LEASE_MS = 1_000;
/** With the uncertainty of the store. */
const LAPSE_MS = LEASE_MS + 2_100;

/** undefined: there is no Java for it. */
export async function dynamodbService(): Promise<DynamodbService | undefined> {
  if (!(await javaAvailable())) return undefined;
  const emulator = await startDynamoDbLocal();
  try {
    const tableName = `rerunsafe-${randomUUID()}`;
    const admin = emulator.client();
    await dynamodbStore({ client: admin, tableName }).setUp();
    const theirs = await powertoolsTable(admin);
    const contender = async (make: (client: ReturnType<Emulator['client']>) => Peer | Promise<Peer>): Promise<Contender> => {
      // A client each, all alike: Powertools puts a middleware of its own into the one it is given.
      const counted = emulator.client();
      const meter = meterOf(counted);
      return { peer: await make(emulator.client()), counted: await make(counted), meter };
    };
    const contenders = [
      await contender((client) => rerunsafe(dynamodbStore({ client, tableName }))),
      await contender((client) => powertoolsOnDynamodb(client, theirs)),
      await contender((client) => bareOnDynamodb(client, tableName)),
    ];
    const goals = { Powertools: { 'first run': 0.88, replay: 0.88, conflict: 0.88, takeover: 1 } };
    return { name: 'DynamoDB Local', contenders, leaseMs: LEASE_MS, lapseMs: LAPSE_MS, rounds: 30, times: 20, goals, emulator, tableName };
  } catch (error) {
    await emulator.stop();
    throw error;
  }
}

import { javaAvailable } from '../support/dynamodb.ts';
import { lostAnswersSuite } from './lost-suite.ts';
import { dynamodbPlace } from './places.ts';

if (await javaAvailable()) lostAnswersSuite('DynamoDB Local', dynamodbPlace);

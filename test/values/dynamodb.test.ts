import { javaAvailable } from '../support/dynamodb.ts';
import { dynamodbLocal } from '../support/stores.ts';
import { valuesOn } from './suite.ts';

if (await javaAvailable()) valuesOn(dynamodbLocal);

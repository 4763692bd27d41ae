/**
 * How a store is named: the one place for it, `--help` and the page in docs/ take it from here.
 *
 * @module
 */
export const DEFAULT_STORE = 'sqlite:';

export const STORE_FORMS: readonly (readonly [form: string, meaning: string])[] = [
  ['sqlite:', "a file in the user's state folder (XDG_STATE_HOME), made at first use; the default"],
  [
    'sqlite:host',
    'one file for all users of this host (/var/lib/rerunsafe; RERUNSAFE_HOST_DIR changes that), made by set-up alone, by an administrator',
  ],
  ['sqlite:PATH', 'a database file of this host, made by set-up alone; its folder has to be there, and never on a network file system'],
  ['postgres:', 'PostgreSQL, where DATABASE_URL or PGHOST and its kin say'],
  ['postgres://USER:PASSWORD@HOST/DATABASE#table=T&schema=S', 'PostgreSQL; a query (?sslmode=…) goes to the driver (package pg)'],
  [
    'redis://USER:PASSWORD@HOST:PORT/0#prefix=P&accept-failover-loss',
    'Redis, with TLS rediss:// (package redis or ioredis); records can be lost in a failover',
  ],
  ['dynamodb:TABLE?region=R&endpoint=U', 'DynamoDB; who asks is said by the AWS environment, never by the URL (package @aws-sdk/client-dynamodb)'],
  [
    'azure-tables:TABLE?connection=SETTING',
    'Table Storage; SETTING is the name of a variable, by default AzureWebJobsStorage (package @azure/data-tables)',
  ],
  ['azure-blob:CONTAINER?connection=SETTING', 'leases alone, in Blob Storage, of 15 to 60 s (package @azure/storage-blob)'],
  ['file:', "leases alone, by the kernel's locks, in the user's state folder, made at first use (package fs-native-extensions)"],
  ['file:host', 'leases alone, for all users of this host, made by set-up alone, by an administrator'],
  ['file:DIRECTORY', 'leases alone, in a folder with an absolute path, made by set-up alone'],
];

/** Beside the forms, wherever they are shown. */
export const SECRETS_NOTE =
  'A URL with a password belongs into the variable RERUNSAFE_STORE: a command line can be read by every user of the machine, and stays in histories and logs.';

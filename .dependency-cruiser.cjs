// The arrows between the parts (CONTRIBUTING.md), held by a machine. Each rule names what would break without it.

/** SDKs are optional peers: a type, or a dynamic import inside a function. Anything else would make them required. */
const SDK = '(^|/)node_modules/(@azure|@aws-sdk|@smithy|@types/aws-lambda|fs-native-extensions|pg|@types/pg|redis|ioredis)(/|$)';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A part that loads its user cannot be loaded alone. Types may meet.',
      severity: 'error',
      from: { path: '^src' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only', 'type-import'] } },
    },
    {
      name: 'resolvable',
      // What runs in a sandbox imports the package by its name, as functions do: that resolves once it is built.
      comment: 'An import that does not resolve here fails at the user.',
      severity: 'error',
      from: { path: '^(src|scripts|test)', pathNot: '^test/lambda/handlers/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'core-knows-nobody',
      comment: 'The protocol stands alone: no store, platform or HTTP in it.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { path: '^(src|test|functions|scripts)/', pathNot: '^src/core/' },
    },
    {
      name: 'core-libraries',
      comment: 'Core takes its serialisation libraries from outside and nothing else.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-bundled', 'npm-no-pkg', 'npm-unknown'],
        pathNot: '(^|/)node_modules/(devalue|canonicalize)/',
      },
    },
    {
      name: 'core-and-node',
      comment: 'Clocks, timers and processes come in as ports, so that a virtual clock can stand in for them.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|async_hooks|diagnostics_channel|util)$' },
    },
    {
      name: 'the-middle-imports-core',
      comment: 'Stores, leases, http, outbox, telemetry and testing import core and themselves.',
      severity: 'error',
      from: { path: '^src/(leases|http|outbox|telemetry|testing)/' },
      to: { path: '^src/', pathNot: '^src/(core/|azure-storage/|$1/)' },
    },
    {
      name: 'stores-import-core-and-outbox',
      comment: 'A store keeps messages as the relay asks for them; anything else of ours it does not know.',
      severity: 'error',
      from: { path: '^src/stores/' },
      to: { path: '^src/', pathNot: '^src/(core/|outbox/|azure-storage/|stores/)' },
    },
    {
      name: 'azure-storage-is-for-azure',
      comment: 'Where a storage account is and who asks concerns what is kept there, nobody else.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(azure-storage|stores/azure-[^/]+|leases/azure-[^/]+)/' },
      to: { path: '^src/azure-storage/' },
    },
    {
      name: 'azure-storage-imports-core',
      comment: 'It serves stores and leases; one that it knew would come along with all the others.',
      severity: 'error',
      from: { path: '^src/azure-storage/' },
      to: { path: '^src/', pathNot: '^src/(core|azure-storage)/' },
    },
    {
      name: 'stores-are-strangers',
      comment: 'A store that leans on another drags its SDK along. Leases likewise.',
      severity: 'error',
      from: { path: '^src/(stores|leases)/([^/]+)/' },
      to: { path: '^src/(stores|leases)/', pathNot: '^src/$1/$2/' },
    },
    {
      name: 'adapters-know-no-store',
      comment: 'Which store is used is the choice of the user, never of the platform.',
      severity: 'error',
      from: { path: '^src/adapters/' },
      to: { path: '^src/', pathNot: '^src/(core|http|adapters)/' },
    },
    {
      name: 'adapters-are-strangers',
      comment: 'A Lambda function ships no line written for Azure.',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/[^/]+/', pathNot: '^src/adapters/$1/' },
    },
    {
      name: 'index-is-small',
      comment: "The root entry is core and the memory store; it loads with no SDK's help.",
      severity: 'error',
      from: { path: '^src/index\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(core|stores/memory)/' },
    },
    {
      name: 'nobody-imports-the-entries',
      comment: 'The way in is for users; inside, files import what they mean.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: '^src/(index\\.ts|cli/)' },
    },
    {
      name: 'sdks-load-late',
      comment: 'Importing an adapter or a store loads no SDK: `import type`, or a dynamic import inside a function.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: SDK, dynamic: false, dependencyTypesNot: ['type-only', 'type-import'] },
    },
    {
      name: 'source-knows-no-tests',
      comment: 'What is published does not reach into what is not.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts|functions)/' },
    },
    {
      name: 'functions-use-the-name',
      comment: 'The sample app imports the package as a user does.',
      severity: 'error',
      from: { path: '^functions/', pathNot: '^functions/dist/' },
      to: { path: '^(\\.\\./)*(src|test|scripts)/' },
    },
    {
      name: 'functions-not-from-dist',
      comment: 'The sample app imports the package as a user does, not its build by a path.',
      severity: 'error',
      from: { path: '^functions/', pathNot: '^functions/dist/' },
      to: { path: '^dist/', dependencyTypes: ['local'], dependencyTypesNot: ['aliased'] },
    },
    {
      name: 'libraries-of-the-command-line',
      comment: 'Arguments, tables and files are read by the command line alone: no function ships what that needs.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: '(^|/)node_modules/(commander|@bomb\\.sh|cli-table3|env-paths|which|tinyglobby|ms|hono|@hono)/' },
    },
    {
      name: 'opentelemetry-is-for-its-entry',
      comment: 'Who does not trace ships nothing of it, nor needs to have it installed.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/telemetry/opentelemetry/' },
      to: { path: '(^|/)(node_modules/@opentelemetry|src/telemetry/opentelemetry)/' },
    },
    {
      name: 'no-undeclared-packages',
      comment: 'A package that happens to be hoisted is not there at the user.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules|^dist/' },
    exclude: { path: '^functions/dist/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};

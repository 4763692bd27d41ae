// Everything the app keeps: records, orders, reports, the queue and the leases. The app makes none of it at run time.

param location string

@minLength(3)
@maxLength(24)
param accountName string

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: accountName
  location: location
  kind: 'StorageV2'
  sku: { name: 'Standard_ZRS' }
  properties: {
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    allowBlobPublicAccess: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
  }
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices@2023-05-01' = {
  parent: account
  name: 'default'

  resource records 'tables' = { name: 'rerunsafe' }
  resource orders 'tables' = { name: 'orders' }
  resource reports 'tables' = { name: 'reports' }
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices@2023-05-01' = {
  parent: account
  name: 'default'

  resource orders 'queues' = { name: 'orders' }
  // Where the host puts a message after maxDequeueCount tries (host.json).
  resource poison 'queues' = { name: 'orders-poison' }
}

// Put no lifecycle rule on the leases: what is known of slots would be gone with the blobs.
resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2023-05-01' = {
  parent: account
  name: 'default'

  resource leases 'containers' = { name: 'rerunsafe-leases' }
  resource deployment 'containers' = { name: 'deployment' }
}

output accountName string = account.name
output deploymentContainerName string = blobs::deployment.name

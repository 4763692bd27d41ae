// The sample app on Azure: a Flex Consumption function app that reaches its storage account by its own identity. No key, no connection string
// with a secret, anywhere.
//
//   npm ci && npm run build && npm run build:functions
//   az deployment group create -g <group> -f infra/azure/main.bicep -p paymentsUrl=<https://...> authClientId=<app registration>
//   func azure functionapp publish <functionAppName, an output>
targetScope = 'resourceGroup'

@description('Where everything goes.')
param location string = resourceGroup().location

@description('Begins the names of everything.')
@minLength(3)
@maxLength(11)
param name string = 'rerunsafe'

@description('Where the payment provider is.')
param paymentsUrl string

@description('Client id of the app registration that callers get their tokens for. The scope of every payment is the caller that it tells.')
param authClientId string

@description('The runtime. The package needs Node 22.13 or later.')
@allowed(['22', '24'])
param nodeVersion string = '22'

var suffix = uniqueString(resourceGroup().id, name)

module storage 'storage.bicep' = {
  name: 'storage'
  params: {
    location: location
    accountName: toLower('${replace(name, '-', '')}${suffix}')
  }
}

module app 'app.bicep' = {
  name: 'app'
  params: {
    location: location
    appName: '${name}-${suffix}'
    storageAccountName: storage.outputs.accountName
    deploymentContainerName: storage.outputs.deploymentContainerName
    paymentsUrl: paymentsUrl
    authClientId: authClientId
    nodeVersion: nodeVersion
  }
}

module access 'access.bicep' = {
  name: 'access'
  params: {
    storageAccountName: storage.outputs.accountName
    applicationInsightsName: app.outputs.applicationInsightsName
    principalId: app.outputs.principalId
  }
}

output functionAppName string = app.outputs.functionAppName
output url string = app.outputs.url

/** What the errors of AWS End User Messaging mean for a registration. */
import { awsMessaging } from '../aws-clients.ts'
import { RegistryFault } from './sms-registry.ts'

const refusals: ReadonlySet<string> = new Set([
  'ValidationException',
  'ConflictException',
  'ResourceNotFoundException',
  'ServiceQuotaExceededException',
])

/** Callers must not see errors of the account or its credentials. */
export const registryFaultOf = (error: unknown): RegistryFault => {
  const { name, message } = error as Error
  if (refusals.has(name)) return new RegistryFault('refused', `${awsMessaging}: ${message}`, { cause: error })
  return new RegistryFault('unavailable', `${awsMessaging} could not be reached or did not accept the request.`, {
    cause: error,
  })
}

export const isNotFound = (error: unknown): boolean =>
  error instanceof RegistryFault && (error.cause as Error | undefined)?.name === 'ResourceNotFoundException'

export const isRefused = (error: unknown): boolean => error instanceof RegistryFault && error.kind === 'refused'

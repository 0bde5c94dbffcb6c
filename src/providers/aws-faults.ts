/** What the errors of the AWS SDK mean for a handover. */
import { LostRequestFault } from './email/ses-http.ts'
import { HandoverFault, type HandoverFaultKind } from './handover.ts'

export type SdkError = Error & { $metadata?: { httpStatusCode?: number } }

type Service = {
  /** The name of the provider. */
  provider: string
  /** The name of the Amazon service, for messages. */
  title: string
  /** The errors that the service names. Others are judged by their status. */
  kindOf: (error: SdkError) => HandoverFaultKind | undefined
}

const kindOfStatus = (status: number | undefined): HandoverFaultKind => {
  // No request was sent: the credentials or the region could not be resolved.
  if (status === undefined) return 'unavailable'
  if (status === 429) return 'throttled'
  // The service accepted the request, but its response cannot be parsed.
  if (status < 300) return 'uncertain'
  // Credentials, permissions or a missing configuration set: the operator must fix it, and another provider may work.
  if (status >= 500 || status === 401 || status === 403 || status === 404) return 'unavailable'
  return 'refused'
}

export const unconfirmedBy = (title: string): string => `${title} did not confirm the message. It may have been sent.`

/** Converts an error of the SDK. Senders must not see errors of the account or its credentials. */
export const makeAwsFault = ({ provider, title, kindOf }: Service) => {
  const texts: Partial<Record<HandoverFaultKind, string>> = {
    unavailable: `${title} could not be reached or did not accept the request.`,
    uncertain: unconfirmedBy(title),
  }
  const kindFor = (error: SdkError): HandoverFaultKind => {
    if (error instanceof LostRequestFault) return error.sent ? 'uncertain' : 'unavailable'
    return kindOf(error) ?? kindOfStatus(error.$metadata?.httpStatusCode)
  }
  return (error: unknown): HandoverFault => {
    if (error instanceof HandoverFault) return error
    const kind = kindFor(error as SdkError)
    return new HandoverFault(kind, provider, texts[kind] ?? (error as Error).message, { cause: error })
  }
}

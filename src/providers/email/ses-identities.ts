/** Registers sending domains as identities of Amazon SES, which sign with the domain's own DKIM key. */
import { createPrivateKey } from 'node:crypto'
import type { SESv2Client } from '@aws-sdk/client-sesv2'
import { assertNotInTransaction } from '../../platform/db/pool.ts'
import {
  type DomainIdentities,
  IdentityFault,
  type IdentityFaultKind,
  type IdentityRef,
  type IdentityState,
  type NewIdentity,
} from './domain-identities.ts'
import { makeSemaphore } from './semaphore.ts'
import { loadSesSdk, makeSesClients, type SesConnection } from './ses-client.ts'
import { LostRequestFault } from './ses-http.ts'

/** Calls can be repeated, so the SDK repeats those that were throttled or lost. */
const maxAttempts = 3
/** SES allows about one such call per second. */
const concurrency = 2
const waitMs = 30_000

type SdkError = Error & { $metadata?: { httpStatusCode?: number } }

const kindOf = (error: SdkError): IdentityFaultKind => {
  const status = error.$metadata?.httpStatusCode
  if (error instanceof LostRequestFault) return 'unavailable'
  // Without a status no request was sent: there are no credentials.
  if (status === undefined || status === 401 || status === 403) return 'forbidden'
  if (status < 300) return 'empty'
  const throttled =
    status === 429 || /^(TooManyRequests|Throttling|LimitExceeded|ConcurrentModification)/.test(error.name)
  return status >= 500 || throttled ? 'unavailable' : 'refused'
}

/** Only SES's own words about the domain are passed on. Other messages name the account or its credentials. */
const messageFor: Partial<Record<IdentityFaultKind, string>> = {
  unavailable: 'Amazon SES could not be reached or is overloaded. Retry later.',
  forbidden: 'Amazon SES did not accept the credentials of this service.',
  empty: 'Amazon SES returned an unusable response. Retry later.',
}

const asIdentityFault = (error: unknown): IdentityFault => {
  if (error instanceof IdentityFault) return error
  const kind = kindOf(error as SdkError)
  return new IdentityFault(kind, messageFor[kind] ?? (error as Error).message, { cause: error })
}

const isNamed = (error: unknown, name: string): boolean => (error as Error | undefined)?.name === name

/** SES takes the key as one line of Base64. PKCS #1 is the form that it has always accepted. */
const signingAttributes = ({ selector, privateKey }: Pick<NewIdentity, 'selector' | 'privateKey'>) => ({
  DomainSigningSelector: selector,
  DomainSigningPrivateKey: createPrivateKey(privateKey).export({ type: 'pkcs1', format: 'der' }).toString('base64'),
})

type Needs = SesConnection & {
  /** The default configuration set of new identities. */
  configurationSet: string | undefined
}

export const makeSesIdentities = (needs: Needs): DomainIdentities => {
  const { configurationSet } = needs
  const clients = makeSesClients(needs, maxAttempts)
  const turns = makeSemaphore(concurrency, waitMs)

  const call = async <T>(
    region: string,
    work: (client: SESv2Client, sdk: Awaited<ReturnType<typeof loadSesSdk>>) => Promise<T>,
  ): Promise<T> => {
    assertNotInTransaction('a call to Amazon SES')
    if (!(await turns.acquire())) throw new IdentityFault('unavailable', messageFor.unavailable as string)
    try {
      return await work(await clients.clientFor(region), await loadSesSdk())
    } catch (error) {
      throw asIdentityFault(error)
    } finally {
      turns.release()
    }
  }

  const remove = ({ name, region }: IdentityRef): Promise<void> =>
    call(region, async (client, { DeleteEmailIdentityCommand }) => {
      try {
        await client.send(new DeleteEmailIdentityCommand({ EmailIdentity: name }))
      } catch (error) {
        if (!isNamed(error, 'NotFoundException')) throw error
      }
    })

  const createIdentity = (identity: NewIdentity): Promise<'created' | 'exists'> =>
    call(identity.region, async (client, { CreateEmailIdentityCommand }) => {
      try {
        const created = new CreateEmailIdentityCommand({
          EmailIdentity: identity.name,
          DkimSigningAttributes: signingAttributes(identity),
          ...(configurationSet !== undefined && { ConfigurationSetName: configurationSet }),
        })
        await client.send(created)
        return 'created'
      } catch (error) {
        if (isNamed(error, 'AlreadyExistsException')) return 'exists'
        throw error
      }
    })

  /** Bounces come back as notifications, so SES must not send them by mail to the return path as well. */
  const configure = ({ name, region, returnHost }: NewIdentity): Promise<void> =>
    call(region, async (client, sdk) => {
      const { PutEmailIdentityFeedbackAttributesCommand, PutEmailIdentityMailFromAttributesCommand } = sdk
      await client.send(
        new PutEmailIdentityMailFromAttributesCommand({
          EmailIdentity: name,
          MailFromDomain: returnHost,
          BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
        }),
      )
      await client.send(
        new PutEmailIdentityFeedbackAttributesCommand({ EmailIdentity: name, EmailForwardingEnabled: false }),
      )
    })

  return {
    create: async (identity) => {
      const outcome = await createIdentity(identity)
      if (outcome === 'exists') return outcome
      try {
        await configure(identity)
      } catch (error) {
        // The first error counts. An identity that cannot be removed either is adopted when the domain is added again.
        await remove(identity).catch(() => undefined)
        throw error
      }
      return outcome
    },

    read: ({ name, region }) =>
      call(region, async (client, { GetEmailIdentityCommand }): Promise<IdentityState | undefined> => {
        try {
          const { DkimAttributes } = await client.send(new GetEmailIdentityCommand({ EmailIdentity: name }))
          if (!DkimAttributes?.Status) throw new IdentityFault('empty', messageFor.empty as string)
          return { dkim: DkimAttributes.Status as IdentityState['dkim'], selectors: DkimAttributes.Tokens ?? [] }
        } catch (error) {
          if (isNamed(error, 'NotFoundException')) return undefined
          throw error
        }
      }),

    setKey: (identity) =>
      call(identity.region, async (client, { PutEmailIdentityDkimSigningAttributesCommand }) => {
        const { name } = identity
        const command = new PutEmailIdentityDkimSigningAttributesCommand({
          EmailIdentity: name,
          SigningAttributesOrigin: 'EXTERNAL',
          SigningAttributes: signingAttributes(identity),
        })
        await client.send(command)
      }),

    remove,
    close: clients.close,
  }
}

import { scim } from '../../../strings/scim.ts'
import { StatusDot, type Tone } from '../../../ui/badge.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Section } from '../../../ui/templates.tsx'
import { hasExpired, type ScimToken } from './scim-data.ts'

type State = keyof typeof scim.states
const tones: Record<State, Tone> = { none: 'neutral', waiting: 'warn', connected: 'ok' }

const stateOf = (working: readonly ScimToken[]): State => {
  if (working.length === 0) return 'none'
  return working.some(({ last_used_at }) => last_used_at !== null) ? 'connected' : 'waiting'
}

type Props = { tokens: readonly ScimToken[] | undefined; address: string | undefined }

/** Whether the identity provider calls, and where it has to call. */
export const DirectoryState = ({ tokens, address }: Props) => {
  const working = tokens?.filter((token) => !hasExpired(token)) ?? []
  const state = stateOf(working)
  const calls = tokens?.flatMap(({ last_used_at }) => last_used_at ?? []).sort() ?? []
  const last = calls.at(-1)
  return (
    <Section title={scim.directory}>
      {tokens ? (
        <DetailList
          facts={[
            { name: scim.state, value: <StatusDot tone={tones[state]}>{scim.states[state]}</StatusDot> },
            { name: scim.lastCall, value: last ? <RelativeTime at={last} /> : scim.never },
            { name: scim.activeTokens, value: working.length },
            { name: scim.address, value: address && <Copyable text={address} /> },
          ]}
        />
      ) : (
        <Skeleton className="h-20 w-full" />
      )}
    </Section>
  )
}

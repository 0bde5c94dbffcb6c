import type { ReactNode } from 'react'
import { blasts } from '../../../strings/blasts.ts'
import { ui } from '../../../strings/ui.ts'
import { type Blast, subjectsOf } from './blast-draft.ts'

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt className="text-muted text-xs">{name}</dt>
    <dd className="break-words">{children}</dd>
  </div>
)

/** What has been chosen so far. */
export const BlastSummary = ({ blast, members }: { blast: Blast; members: number }) => {
  const subjects = subjectsOf(blast)
  const time = blast.later ? `${blast.localTime.replace('T', ' ')} ${blast.zone}` : blasts.now
  return (
    <>
      <h2 className="font-semibold">{ui.summary}</h2>
      <dl className="mt-3 flex flex-col gap-3">
        <Fact name={blasts.members}>{members.toLocaleString('en')}</Fact>
        <Fact name={blasts.template}>
          {blast.template ? `${blast.template} (${blasts.channels[blast.channel]})` : blasts.notChosen}
        </Fact>
        <Fact name={blasts.from}>{blast.from || blasts.notChosen}</Fact>
        {blast.channel === 'email' && (
          <Fact name={blasts.subject}>
            {subjects.length === 0 ? blasts.ownSubject : blasts.variants(subjects.length)}
          </Fact>
        )}
        <Fact name={blasts.when}>{time}</Fact>
        {blast.ramp !== '0' && <Fact name={blasts.ramp}>{blast.ramp}</Fact>}
      </dl>
    </>
  )
}

import { serviceFlags } from '../../bin/flags.js'
import type { Bench, Contender } from '../harness.ts'
import { workContender } from '../work.ts'

const program = (file: string) => new URL(`../servers/${file}`, import.meta.url)

const recipients = 10_000
const recipientsWhenQuick = 500
const otherContacts = 1_000_000
const otherContactsWhenQuick = 2_000

/** @param others Contacts of the org that are not in the audience. */
const sending = (name: string, by: 'ours' | 'copy', others: number): Contender =>
  workContender({
    name,
    program: program('blasts.ts'),
    flags: serviceFlags,
    params: async (resources) => ({
      databaseUrl: (await resources.database(name)).url,
      by,
      recipients: resources.quick ? recipientsWhenQuick : recipients,
      others: resources.quick ? Math.min(others, otherContactsWhenQuick) : others,
    }),
  })

/** Rendering, links and checks must not cost more than twice what the database needs for the rows. */
export const audienceSend: Bench = {
  name: 'audience-send',
  about:
    'Send a 4 KB page with a tracked link to 10,000 recipients, counted in sends, and load the same rows with COPY alone.',
  clients: [1],
  baseline: 'copy',
  contenders: [
    sending('copy', 'copy', 0),
    sending('ours', 'ours', 0),
    sending('ours-1m-contacts', 'ours', otherContacts),
  ],
  targets: [
    { kind: 'ratio', figure: 'p50Ms', clients: 1, of: 'ours', to: 'copy', atMost: 3 },
    { kind: 'ratio', figure: 'p50Ms', clients: 1, of: 'ours-1m-contacts', to: 'ours', atMost: 1.2 },
    // An idle service has about 150 MB.
    { kind: 'rss', clients: 1, of: 'ours', atMost: 450 },
  ],
}

const perClaim = 200

const dispatching = (name: string, job: boolean): Contender =>
  workContender({
    name,
    program: program('scheduler.ts'),
    flags: serviceFlags,
    weight: perClaim,
    params: async (resources) => ({
      databaseUrl: (await resources.database(name)).url,
      by: 'scheduler',
      perClaim,
      waiting: 0,
      due: resources.quick ? 60_000 : 150_000,
      job,
    }),
  })

/** Compares scheduled messages of a job with others. */
export const dispatch: Bench = {
  name: 'dispatch',
  about: 'Claim 200 due emails and send them with the local provider, with and without a job. Counted in emails.',
  clients: [1],
  baseline: 'scheduled',
  contenders: [dispatching('scheduled', false), dispatching('job', true)],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 1, of: 'job', to: 'scheduled', atLeast: 0.9 }],
}

/** Sends to audiences and their jobs. */
import { makeCancelJob } from '../../sending/blasts/cancel-job.ts'
import { makeCreateJob } from '../../sending/blasts/create-job.ts'
import { makeEstimateSend } from '../../sending/blasts/estimate-send.ts'
import { makeReadJobs } from '../../sending/blasts/read.ts'
import { makeSendToAudience } from '../../sending/blasts/send-to-audience.ts'
import type { Foundation } from './foundation.ts'
import type { Platform } from './platform.ts'
import type { Sending } from './sending.ts'

export const makeBlasts = (
  { db, reads, clock, log, audit, appendEvents, idempotency }: Foundation,
  { usage }: Platform,
  { messages, templates }: Sending,
) => {
  const check = {
    db,
    clock,
    usage,
    templates,
    channels: messages.bulk,
    sentBy: messages.sentBy,
    findSuppressed: messages.findSuppressed,
  }
  const jobs = makeCreateJob({ db, clock, audit, appendEvents, idempotency })
  return {
    send: makeSendToAudience({ ...check, log, jobs }),
    estimate: makeEstimateSend(check),
    read: makeReadJobs({ db: reads.db }),
    cancel: makeCancelJob({ db, clock, audit, appendEvents }),
  }
}

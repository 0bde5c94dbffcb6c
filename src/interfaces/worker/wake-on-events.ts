/** Wakes fan-out when this process, or another one, has written events. */

import { type EventAnnouncer, eventsChannel } from '../../journal/events/announce-events.ts'
import { type Listener, listen } from '../../platform/db/listen.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Log } from '../../platform/ground/log.ts'

type Needs = { db: Pick<Db, 'connect'>; log: Log; announcer: EventAnnouncer; wake: () => void }

export const makeWakeOnEvents = ({ db, log, announcer, wake }: Needs) => {
  let listener: Listener | undefined
  return {
    start: async (): Promise<void> => {
      // While the listening connection is down, fan-out polls.
      listener ??= await listen({ connect: db.connect, log, channel: eventsChannel, onMessage: wake, onGap: wake })
      announcer.wakeHere(wake)
    },
    stop: async (): Promise<void> => {
      await listener?.close()
    },
  }
}

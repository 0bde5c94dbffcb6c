import type { build } from '../../src/app/wiring/build.ts'

type Service = Awaited<ReturnType<typeof build>>

/** Signs a person in without the mail and the code. */
export const openSession = ({ sessions }: Service, userId: string): Promise<string> =>
  sessions.open(userId, { method: 'credentials', ip: null, userAgent: 'bench' })

import { setTimeout as sleep } from 'node:timers/promises'

const sqlStates = { insufficientPrivilege: '42501' }

/** PostgreSQL's own vacuum may be using the database, and only a superuser can end it. It ends by itself soon. */
export const dropDatabase = async (
  admin: (text: string) => Promise<unknown>,
  name: string,
  triesLeft = 50,
): Promise<void> => {
  try {
    await admin(`drop database ${name} with (force)`)
  } catch (error) {
    if ((error as { code?: string }).code !== sqlStates.insufficientPrivilege || triesLeft === 0) throw error
    await sleep(100)
    await dropDatabase(admin, name, triesLeft - 1)
  }
}

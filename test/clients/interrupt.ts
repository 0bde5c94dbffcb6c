/** Interrupts requests, as the death of their process does. */
import { newId } from '../../src/platform/ground/ids.ts'
import type { TestService } from '../service/service.ts'

/** Makes a finished request look as if its process had died before it recorded the response. */
export const interrupt = async ({ database, service }: TestService, key: string): Promise<void> => {
  const process = newId('request')
  await database.sql('insert into service_processes (id, beats, seen_at) values ($1, -1, $2)', [process, new Date()])
  const lockedUntil = new Date(service.clock.millis() + 330_000)
  const rows = await database.sql(
    `update idempotency_keys set status = null, body = null, process_id = $2, locked_until = $3
     where key = $1 returning key`,
    [key, process, lockedUntil],
  )
  if (rows.length !== 1) throw new Error(`${rows.length} requests have the key ${key}, expected 1`)
  await service.modules.processes.round()
}

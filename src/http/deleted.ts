import { z } from 'zod'

/** The response of every delete. */
export const Deleted = z.strictObject({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'Deleted' })

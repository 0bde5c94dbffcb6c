import { z } from 'zod'

/** The response of every delete. */
export const Deleted = z
  .strictObject({
    id: z.string().describe('The id of the deleted resource.'),
    deleted: z.literal(true).describe('Always `true`.'),
  })
  .meta({ id: 'Deleted', examples: [{ id: 'dom_01k5w3v8q6e9rbx2t7m4n0c1yz', deleted: true }] })

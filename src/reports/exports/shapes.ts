import { z } from 'zod'

const nullableTime = z.iso.datetime().nullable()

export const ExportJob = z.strictObject({
  id: z.string(),
  status: z.enum(['queued', 'running', 'completed', 'failed', 'expired']),
  requested_by: z.string().nullable(),
  created_at: z.iso.datetime(),
  completed_at: nullableTime,
  expires_at: nullableTime,
  size_bytes: z.number(),
  rows: z.number(),
  progress: z.number().min(0).max(100),
  error: z.string().nullable(),
  download_url: z.string().nullable(),
})

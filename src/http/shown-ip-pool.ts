import type { z } from 'zod'
import type { IpPool } from '../domains/ip-pool-shapes.ts'
import type { IpPoolRow } from '../domains/store/ip-pool-rows.ts'

export const shownIpPool = (row: IpPoolRow): z.output<typeof IpPool> => ({
  id: row.id,
  name: row.name,
  region: row.region,
  paused: row.paused,
  ip_count: row.ip_count,
  ips: row.ips,
  domain_ids: row.domain_ids,
  created_at: row.created_at.toISOString(),
})

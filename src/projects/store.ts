import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'

export const insertProject = statement<
  [
    orgId: string,
    id: string,
    name: string,
    slug: string,
    isDefault: boolean,
    environment: Environment,
    at: Date,
  ]
>(
  'projects.insert',
  `insert into projects (org_id, id, name, slug, is_default, created_environment, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $7)`,
)

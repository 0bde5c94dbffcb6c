import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'

export type ProjectRow = {
  id: string
  name: string
  slug: string
  is_default: boolean
  created_environment: Environment
  created_at: Date
  updated_at: Date
}

const columns = 'id, name, slug, is_default, created_environment, created_at, updated_at'

/** Returns no row if the slug is taken. */
export const insertProject = statement<
  { orgId: string; id: string; name: string; slug: string; isDefault: boolean; environment: Environment; at: Date },
  ProjectRow
>(
  'projects.insert',
  `insert into projects (org_id, id, name, slug, is_default, created_environment, created_at, updated_at)
   values (:orgId, :id, :name, :slug, :isDefault, :environment, :at, :at)
   on conflict (org_id, slug) do nothing
   returning ${columns}`,
)

export const countProjects = statement<{ orgId: string }, { n: number }>(
  'projects.count',
  'select count(*) as n from projects where org_id = :orgId',
)

export const findDefaultProject = statement<{ orgId: string }, { id: string }>(
  'projects.find_default',
  'select id from projects where org_id = :orgId and is_default',
)

/** `onlyId` is the project that the caller's key is limited to, or null for a key that reaches all projects. */
export const findProject = statement<{ orgId: string; onlyId: string | null; id: string }, ProjectRow>(
  'projects.find',
  `select ${columns} from projects where org_id = :orgId and (:onlyId::text is null or id = :onlyId) and id = :id`,
)

export const listProjects = statement<
  { orgId: string; onlyId: string | null; afterAt: string | null; afterId: string | null; limit: number },
  ProjectRow
>(
  'projects.list',
  `select ${columns} from projects
   where org_id = :orgId and (:onlyId::text is null or id = :onlyId)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
)

/** Null keeps the current value, so that concurrent updates of different fields are both kept. */
export const updateProject = statement<
  { orgId: string; id: string; name: string | null; slug: string | null; at: Date },
  ProjectRow
>(
  'projects.update',
  `update projects set name = coalesce(:name, name), slug = coalesce(:slug, slug), updated_at = :at
   where org_id = :orgId and id = :id returning ${columns}`,
)

/** Which tables still contain rows of the project. Row counts are deliberately not read. */
export const blockingTables = statement<
  { orgId: string; id: string },
  { api_keys: boolean; domains: boolean; messages: boolean; jobs: boolean; verifications: boolean }
>(
  'projects.blocking_tables',
  `select exists (select 1 from api_keys where org_id = :orgId and project_id = :id) as api_keys,
     exists (select 1 from domains where org_id = :orgId and project_id = :id) as domains,
     exists (select 1 from messages where org_id = :orgId and project_id = :id) as messages,
     exists (select 1 from jobs where org_id = :orgId and project_id = :id) as jobs,
     exists (select 1 from verifications where org_id = :orgId and project_id = :id) as verifications`,
)

export const deleteProject = statement<{ orgId: string; id: string }, { id: string }>(
  'projects.delete',
  `delete from projects where org_id = :orgId and id = :id and not is_default
     and not exists (select 1 from messages where org_id = :orgId and project_id = :id)
     and not exists (select 1 from jobs where org_id = :orgId and project_id = :id)
     and not exists (select 1 from verifications where org_id = :orgId and project_id = :id)
   returning id`,
)

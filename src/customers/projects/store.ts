import { columns, flag, type Given, oneOf, type RowOf, text, time } from '../../platform/db/columns.ts'
import { statement } from '../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../platform/ground/cursor.ts'
import type { Environment } from '../../platform/ground/scope.ts'

const projectColumns = columns({
  id: text,
  name: text,
  slug: text,
  is_default: flag,
  created_environment: oneOf<Environment>(),
  created_at: time,
  updated_at: time,
})

export type ProjectRow = RowOf<typeof projectColumns>

/** Returns no row if the slug is taken. */
export const insertProject = statement<
  Given<ProjectRow, 'id' | 'name' | 'slug' | 'is_default'> & { orgId: string; environment: Environment; at: Date },
  ProjectRow
>(
  'projects.insert',
  `insert into projects (org_id, id, name, slug, is_default, created_environment, created_at, updated_at)
   values (:orgId, :id, :name, :slug, :isDefault, :environment, :at, :at)
   on conflict (org_id, slug) do nothing
   returning ${projectColumns}`,
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
  `select ${projectColumns} from projects where org_id = :orgId and (:onlyId::text is null or id = :onlyId) and id = :id`,
)

export const listProjects = statement<Keyset & { orgId: string; onlyId: string | null }, ProjectRow>(
  'projects.list',
  `select ${projectColumns} from projects
   where org_id = :orgId and (:onlyId::text is null or id = :onlyId) ${newestPage}`,
)

/** Null keeps the current value, so that concurrent updates of different fields are both kept. */
export const updateProject = statement<
  { orgId: string; id: string; name: string | null; slug: string | null; at: Date },
  ProjectRow
>(
  'projects.update',
  `update projects set name = coalesce(:name, name), slug = coalesce(:slug, slug), updated_at = :at
   where org_id = :orgId and id = :id returning ${projectColumns}`,
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

/** The two roles of the embedded database: the plain role of the service, and the superuser for maintenance. */
import pg from 'pg'
import type { Log } from '../../ground/log.ts'
import { OperatorFault } from '../../ground/operator-fault.ts'
import { database, maintenanceRole, newPassword, readPassword, role, roleDefinition, savePassword } from './cluster.ts'
import { errnoOf } from './errno.ts'
import type { Layout } from './folder.ts'

type Login = { user?: string; password: string; port: number; name?: string }

export const urlOf = ({ user = role, password, port, name = database }: Login): string =>
  `postgres://${user}:${password}@127.0.0.1:${port}/${name}`

const sqlStates = { noSuchDatabase: '3D000', wrongPassword: '28P01' }

const runSql = async (url: string, sql: string): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 3000,
    query_timeout: 30_000,
  })
  // Without a listener, a connection that is lost between two steps would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query(sql)).rows
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Null when the password is missing, as it is for a cluster of an earlier release. */
export const maintenanceUrlOf = async (layout: Layout, port: number, name = database): Promise<string | null> => {
  const password = await readPassword(layout.maintenanceFile)
  return password === null ? null : urlOf({ user: maintenanceRole, password, port, name })
}

const firstUserOid = 16_384

/**
 * Gives everything that the superuser made in this database to the role, except what belongs to an extension. REASSIGN
 * OWNED cannot do it, because the first superuser also owns the system catalogues. A sequence of a column follows its
 * table.
 */
const giveObjects = `do $$
declare
  object record;
begin
  for object in
    select 'pg_namespace'::regclass as catalogue, oid, format('schema %I', nspname) as name
      from pg_namespace where nspowner = 10
    union all
    select 'pg_class', oid, format('table %s', oid::regclass)
      from pg_class where relowner = 10 and relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    union all
    select 'pg_proc', oid, format('routine %s', oid::regprocedure) from pg_proc where proowner = 10
    union all
    select 'pg_type', t.oid, format('type %s', t.oid::regtype)
      from pg_type t left join pg_class c on c.oid = t.typrelid
      where typowner = 10 and (typtype in ('e', 'd', 'r') or c.relkind = 'c')
  loop
    if object.oid >= ${firstUserOid} and not exists (
      select from pg_depend where classid = object.catalogue and objid = object.oid and objsubid = 0
        and (deptype = 'e' or deptype in ('a', 'i') and refclassid = 'pg_class'::regclass and refobjsubid > 0)
    ) then
      execute format('alter %s owner to ${role}', object.name);
    end if;
  end loop;
end $$`

/**
 * Turns the superuser that an earlier release used for everything into the maintenance role, and makes the plain role
 * under its former name and password, so that the earlier release can still start. PostgreSQL allows neither to take
 * the attribute from the first superuser nor to rename the current one, hence the second superuser in between.
 */
const splitRole = (password: string, maintenancePassword: string): string =>
  [
    'begin',
    'create role tidings_upgrade superuser',
    'set local session authorization tidings_upgrade',
    `alter role ${role} rename to ${maintenanceRole}`,
    `alter role ${maintenanceRole} password '${maintenancePassword}'`,
    roleDefinition(password),
    `alter database ${database} owner to ${role}`,
    giveObjects,
    'reset session authorization',
    'drop role tidings_upgrade',
    'commit',
  ].join(';\n')

const isSuperuser = async (url: string): Promise<boolean> => {
  const [found] = await runSql(url, 'select rolsuper from pg_roles where rolname = current_user')
  return found?.rolsuper === true
}

const makeDatabase = async (password: string, port: number, layout: Layout): Promise<void> => {
  const url = (await maintenanceUrlOf(layout, port, 'postgres')) ?? urlOf({ password, port, name: 'postgres' })
  await runSql(url, `create database ${database} owner ${role}`)
}

const responseFault = (error: unknown, port: number, layout: Layout): OperatorFault =>
  errnoOf(error) === sqlStates.wrongPassword
    ? new OperatorFault(
        `The password in ${layout.passwordFile} is not the password of the database in ${layout.cluster}. ` +
          'Remove that file: the next start sets a new password.',
      )
    : new OperatorFault(
        `The embedded database in ${layout.cluster} (DATA_DIR ${layout.dataDir}) runs but does not respond on ` +
          `127.0.0.1:${port}: ${error instanceof Error ? error.message : error}. Its log is ${layout.logFile}.`,
        { cause: error },
      )

/**
 * Checks that the server responds, creates the database if it does not exist, and takes the superuser attribute from
 * the role of a cluster that an earlier release created.
 */
export const ensureDatabase = async (password: string, port: number, layout: Layout, log: Log): Promise<void> => {
  const url = urlOf({ password, port })
  try {
    const superuser = await isSuperuser(url).catch(async (error) => {
      if (errnoOf(error) !== sqlStates.noSuchDatabase) throw error
      await makeDatabase(password, port, layout)
      return isSuperuser(url)
    })
    if (!superuser) return
    const maintenancePassword = newPassword()
    await savePassword(layout.maintenanceFile, maintenancePassword)
    await runSql(url, splitRole(password, maintenancePassword))
    log.info('the role of the embedded database is no longer a superuser')
  } catch (error) {
    throw responseFault(error, port, layout)
  }
}

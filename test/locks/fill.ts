/** Fills the tables that requests use all the time, each as soon as a migration has created it. */
import type pg from 'pg'

const at = "timestamptz '2026-11-01' + n * interval '1 second'"

/** Times from November on, so that tables with a partition for each month have two full ones. */
const parents = ['messages', 'message_events', 'webhook_deliveries']

const first = `
  insert into orgs (id, name, slug, plan, created_at, updated_at) values ('org_1', 'Acme', 'acme', 'pro', '2026-11-01', '2026-11-01');
  insert into projects (org_id, id, name, slug, is_default, created_environment, created_at, updated_at)
    values ('org_1', 'prj_1', 'Default', 'default', true, 'live', '2026-11-01', '2026-11-01')`

const rowsOf = (columns: string, values: string) => (table: string, rows: number) =>
  `insert into ${table} (${columns}) select ${values} from generate_series(1, ${rows}) as n`

/** How each hot table is filled. Columns of later migrations keep their defaults, as in rows of earlier releases. */
const fills: Record<string, (table: string, rows: number) => string> = {
  suppressions: rowsOf(
    'org_id, id, channel, value, reason, source, created_environment, created_at, updated_at',
    `'org_1', 'sup_' || n, 'email', 'reader' || n || '@example.com', 'manual', 'api', 'live', ${at}, ${at}`,
  ),
  idempotency_keys: rowsOf(
    'org_id, environment, key, fingerprint, claim, status, body, created_at, expires_at',
    `'org_1', 'live', 'key-' || n, sha256(n::text::bytea), 'claim', 200, '{"id":"msg_1"}', ${at}, ${at}`,
  ),
  audit_entries: rowsOf(
    'org_id, id, actor_user_id, action, resource_type, resource_id, metadata, created_at, signature',
    `'org_1', 'aud_' || n, 'usr_' || n % 100, 'message.sent', 'message', 'msg_' || n, '{"channel":"email"}', ${at}, 'signature'`,
  ),
  audit_links: rowsOf('org_id, seq, entry_id, digest', `'org_1', n, 'aud_' || n, sha256(n::text::bytea)`),
  events: rowsOf(
    'org_id, id, environment, event, data, created_at',
    `'org_1', 'evt_' || n, 'live', 'message.sent', '{"message_id":"msg_1"}', ${at}`,
  ),
  usage_counters: rowsOf(
    'org_id, subject, environment, measure, period, used',
    `'org_1', 'ten_' || n, 'live', 'email', '2026-11', n`,
  ),
  messages: rowsOf(
    'org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses, subject, text, tags, sent_at, history, marks',
    `'org_1', 'msg_' || n, ${at} + n * interval '3 seconds', 'live', 'prj_1', 'email', 'sent', 'hello@example.test', array['reader' || n || '@example.com'],
      'A receipt', 'Thank you, Ada.', '{order}', ${at}, '[]', array[n, -n]`,
  ),
  message_events: rowsOf(
    'org_id, id, at, message_id, environment, channel, kind, recipient',
    `'org_1', 'mev_' || n, ${at} + n * interval '3 seconds', 'msg_' || n, 'live', 'email', 'delivered', 'reader@example.com'`,
  ),
  webhook_deliveries: rowsOf(
    'org_id, id, created_at, endpoint_id, environment, event, payload, status, max_attempts, attempt_count',
    `'org_1', 'whd_' || n, ${at} + n * interval '3 seconds', 'whe_1', 'live', 'message.sent', '{"event":"message.sent"}', 'delivered', 8, 1`,
  ),
  inbound_messages: rowsOf(
    'org_id, id, channel, from_address, to_addresses, text, kind, received_at, created_at',
    `'org_1', 'ism_' || n, 'sms', '+15125550100', '{+15125550199}', 'Hello', 'reply', ${at}, ${at}`,
  ),
  contacts: rowsOf(
    'org_id, id, created_environment, email, phone, created_at, updated_at',
    `'org_1', 'con_' || n, 'live', 'reader' || n || '@example.com', '+1512' || n, ${at}, ${at}`,
  ),
  audience_members: (table, rows) =>
    `insert into audiences (org_id, id, created_environment, name, slug, created_at, updated_at)
       values ('org_1', 'aud_1', 'live', 'All', 'all', '2026-11-01', '2026-11-01');
     ${rowsOf('org_id, audience_id, contact_id, created_at', `'org_1', 'aud_1', 'con_' || n, ${at}`)(table, rows)}`,
  verifications: rowsOf(
    'org_id, id, environment, project_id, channel, destination, code_hash, max_attempts, created_at, expires_at',
    `'org_1', 'ver_' || n, 'live', 'prj_1', 'email', 'reader@example.com', repeat('0', 64), 5, ${at}, ${at}`,
  ),
  analytics_days: rowsOf(
    'org_id, environment, tenant_id, part, day, job_id, variant, project_id, sent, delivered, bounced, failed, complained, opened, clicked, unsubscribed',
    `'org_1', 'live', 'ten_' || n, 'other', date '2026-11-01', '', '', 'prj_1', 1, 1, 0, 0, 0, 0, 0, 0`,
  ),
}

export const hotTables = Object.keys(fills)

export const existingOf = async (db: pg.Pool, names: readonly string[]): Promise<string[]> => {
  const { rows } = await db.query<{ name: string }>(
    'select name from unnest($1::text[]) as name where to_regclass(name) is not null',
    [names],
  )
  return rows.map(({ name }) => name)
}

/** Returns the names of the tables that it filled. */
export const fillNew = async (db: pg.Pool, filled: ReadonlySet<string>, rows: number): Promise<string[]> => {
  const tables = (await existingOf(db, hotTables)).filter((table) => !filled.has(table))
  if (filled.size === 0) await db.query(first)
  for (const parent of await existingOf(db, parents)) {
    for (const month of ['2026-11-01', '2026-12-01']) await db.query('select ensure_month($1, $2)', [parent, month])
  }
  for (const table of tables) {
    await db.query(fills[table]?.(table, rows) ?? '')
    await db.query(`vacuum analyze ${table}`)
  }
  return tables
}

import pg from 'pg'

export type OwnDatabase = { url: string; drop(): Promise<void> }

/** A database for one contender, if others must not share its tables or do its work. */
export const ownDatabase = async (databaseUrl: string, name: string): Promise<OwnDatabase> => {
  const run = async (...statements: string[]): Promise<void> => {
    const client = new pg.Client(databaseUrl)
    await client.connect()
    for (const text of statements) await client.query(text)
    await client.end()
  }
  const dropping = `drop database if exists ${name} with (force)`
  await run(dropping, `create database ${name}`)
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => run(dropping) }
}

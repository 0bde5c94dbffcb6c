import { serviceFlags } from '../../bin/flags.js'
import type { Bench, Contender } from '../harness.ts'
import { workContender } from '../work.ts'

const rows = 10_000
const rowsWhenQuick = 1_000

const loading = (name: string, by: 'import' | 'copy', contacts: number): Contender =>
  workContender({
    name,
    program: new URL('../servers/csv-import.ts', import.meta.url),
    flags: serviceFlags,
    params: async (resources) => ({
      databaseUrl: (await resources.database(name)).url,
      by,
      rows: resources.quick ? rowsWhenQuick : rows,
      contacts: resources.quick ? Math.min(contacts, 10_000) : contacts,
    }),
  })

/** Reading, checking and matching the rows of a file must not cost much more than storing them. */
export const csvImport: Bench = {
  name: 'csv-import',
  about: 'Import a CSV file of 10,000 new contacts into an audience; the baseline is the COPY of the same rows.',
  clients: [1],
  baseline: 'copy',
  contenders: [loading('copy', 'copy', 0), loading('import', 'import', 0), loading('import-1m', 'import', 1_000_000)],
  targets: [
    { kind: 'ratio', figure: 'p50Ms', clients: 1, of: 'import', to: 'copy', atMost: 3 },
    { kind: 'ratio', figure: 'p50Ms', clients: 1, of: 'import-1m', to: 'import', atMost: 1.5 },
  ],
}

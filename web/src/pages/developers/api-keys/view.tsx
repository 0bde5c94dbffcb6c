import { KeyRound, Plus } from 'lucide-react'
import { useMode } from '../../../shell/mode.ts'
import { apiKeys } from '../../../strings/api-keys.ts'
import { StatusDot, type Tone } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { curl } from '../../../ui/curl.ts'
import { Drawer } from '../../../ui/drawer.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { OpenedDetail } from '../../../ui/opened-detail.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { useOpened } from '../../../ui/use-opened.ts'
import { CreateKey } from './create-key.tsx'
import { type ApiKey, type KeyState, readKey, stateOf, useKeys } from './key-data.ts'
import { KeyDetail } from './key-detail.tsx'
import { isFullAccess, sendingScopes } from './scope-list.ts'

const tones: Record<KeyState, Tone> = { active: 'ok', expired: 'warn', revoked: 'neutral' }

const columns: Column<ApiKey>[] = [
  { id: 'name', header: apiKeys.columns.name, cell: ({ name }) => <span className="font-medium">{name}</span> },
  {
    id: 'key',
    header: apiKeys.columns.key,
    className: 'hidden sm:table-cell',
    cell: ({ prefix, last_four }) => <span className="font-mono text-muted text-xs">{`${prefix}…${last_four}`}</span>,
  },
  {
    id: 'scopes',
    header: apiKeys.columns.scopes,
    className: 'hidden md:table-cell',
    cell: ({ scopes }) => (isFullAccess(scopes) ? apiKeys.fullAccess : apiKeys.someScopes(scopes.length)),
  },
  {
    id: 'state',
    header: apiKeys.columns.state,
    cell: (key) => <StatusDot tone={tones[stateOf(key)]}>{apiKeys[stateOf(key)]}</StatusDot>,
  },
  {
    id: 'used',
    header: apiKeys.columns.used,
    cell: ({ last_used_at }) => (last_used_at ? <RelativeTime at={last_used_at} /> : apiKeys.never),
  },
  {
    id: 'created',
    header: apiKeys.columns.created,
    className: 'hidden lg:table-cell',
    cell: ({ created_at }) => <RelativeTime at={created_at} />,
  },
]

const ApiKeysPage = () => {
  const mode = useMode()
  const [{ open, tab, create }, change] = useFilters({ open: '', tab: 'details', create: '' })
  const { rows, error, more } = useKeys(mode)
  const opened = useOpened(['api-keys'], readKey, { id: open, rows })
  const createButton = (
    <Button
      look="primary"
      gate="requireOwnerSession"
      icon={<Plus aria-hidden className="size-4" />}
      onClick={() => change({ create: '1' })}
    >
      {apiKeys.create}
    </Button>
  )
  return (
    <Page title={apiKeys.title} description={apiKeys.about} actions={createButton}>
      <ErrorNote error={error} />
      <Table
        label={apiKeys.title}
        columns={columns}
        rows={error ? [] : rows}
        rowKey={({ id }) => id}
        onOpen={({ id }) => change({ open: id, tab: '' })}
        openKey={open}
        more={more}
        empty={
          <EmptyState
            icon={<KeyRound className="size-6" />}
            title={apiKeys.emptyTitle(mode)}
            action={createButton}
            curl={curl('POST', '/keys', { name: 'Shop', scopes: sendingScopes })}
          >
            {apiKeys.empty}
          </EmptyState>
        }
      />
      <CreateKey open={create !== ''} onClose={() => change({ create: '' })} />
      <Drawer
        open={open !== ''}
        onClose={() => change({ open: '', tab: '' })}
        title={opened.row?.name ?? apiKeys.title}
      >
        <OpenedDetail opened={opened} goneText={apiKeys.gone}>
          {(key) => <KeyDetail apiKey={key} tab={tab} onTab={(now) => change({ tab: now })} />}
        </OpenedDetail>
      </Drawer>
    </Page>
  )
}

export default ApiKeysPage

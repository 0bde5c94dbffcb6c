import { useQueryClient } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { scim } from '../../../strings/scim.ts'
import { Button, IconButton } from '../../../ui/button.tsx'
import { Input } from '../../../ui/input.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { optionsOf, Select } from '../../../ui/select.tsx'
import { Section } from '../../../ui/templates.tsx'
import { SelectField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { type DirectoryRole, type Mapping, mappingKey } from './scim-data.ts'

type Group = { key: number; display_name: string; role: DirectoryRole }

const roles = optionsOf(scim.roles)

type RowProps = {
  group: Group
  position: number
  error: string | undefined
  onChange: (part: Partial<Group>) => void
  onRemove: () => void
}

const GroupRow = ({ group, position, error, onChange, onRemove }: RowProps) => (
  <li className="flex flex-col gap-1">
    <div className="flex items-center gap-2">
      <Input
        aria-label={scim.groupOf(position)}
        aria-invalid={error !== undefined}
        placeholder={scim.group}
        value={group.display_name}
        onChange={(event) => onChange({ display_name: event.target.value })}
        className="min-w-0 flex-1"
      />
      <Select
        aria-label={scim.roleOf(position)}
        value={group.role}
        onValue={(role) => onChange({ role: role as DirectoryRole })}
        options={roles}
        className="w-32 shrink-0"
      />
      <IconButton
        label={scim.removeGroup(position)}
        gate="requireOwnerSession"
        icon={<X aria-hidden className="size-4" />}
        onClick={onRemove}
      />
    </div>
    {error && (
      <p role="alert" className="text-bad text-sm">
        {error}
      </p>
    )}
  </li>
)

let nextKey = 0
const withKey = (group: Omit<Group, 'key'>): Group => {
  nextKey += 1
  return { key: nextKey, ...group }
}

export const GroupRoles = ({ mapping }: { mapping: Mapping }) => {
  const client = useQueryClient()
  const [standard, setStandard] = useState<DirectoryRole>(mapping.default_role)
  const [groups, setGroups] = useState(() => mapping.groups.map(withKey))
  const changeAt = (key: number, part: Partial<Group>) =>
    setGroups((now) => now.map((group) => (group.key === key ? { ...group, ...part } : group)))
  const form = useSave(
    () => {
      const body = { default_role: standard, groups: groups.map(({ display_name, role }) => ({ display_name, role })) }
      return unwrap(api.PUT('/api/internal/scim/mapping', { body }))
    },
    { message: scim.mappingSaved, done: (saved) => client.setQueryData(mappingKey, saved) },
  )
  return (
    <Section title={scim.mapping} description={scim.mappingHelp}>
      <SaveForm label={scim.mapping} onSubmit={form.save} form={form} gate="requireOwnerSession">
        <SelectField
          label={scim.defaultRole}
          error={form.fault('default_role')}
          value={standard}
          onValue={(role) => setStandard(role as DirectoryRole)}
          options={roles}
        />
        {groups.length === 0 && <p className="text-muted text-sm">{scim.noGroups}</p>}
        <ul className="flex flex-col gap-2">
          {groups.map((group, index) => (
            <GroupRow
              key={group.key}
              group={group}
              position={index + 1}
              error={form.fault(`groups.${index}`)}
              onChange={(part) => changeAt(group.key, part)}
              onRemove={() => setGroups((now) => now.filter(({ key }) => key !== group.key))}
            />
          ))}
        </ul>
        <div>
          <Button
            size="small"
            gate="requireOwnerSession"
            icon={<Plus aria-hidden className="size-3.5" />}
            onClick={() => setGroups((now) => [...now, withKey({ display_name: '', role: 'member' })])}
          >
            {scim.addGroup}
          </Button>
        </div>
      </SaveForm>
    </Section>
  )
}
